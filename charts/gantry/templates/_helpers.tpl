{{- define "gantry.name" -}}
{{- if eq .Release.Name "gantry" -}}gantry-operator{{- else -}}{{ printf "%s-gantry-operator" .Release.Name | trunc 52 | trimSuffix "-" }}{{- end -}}
{{- end -}}

{{/* Of objects without a namespace: releases of one name in two namespaces have their own. */}}
{{- define "gantry.clusterName" -}}
{{- $name := include "gantry.name" . -}}
{{- if and (eq .Release.Name "gantry") (eq .Release.Namespace "gantry-system") -}}{{ $name }}{{- else -}}{{ printf "%s-%s" $name .Release.Namespace }}{{- end -}}
{{- end -}}

{{- define "gantry.account" -}}
{{- .Values.serviceAccount.name | default (include "gantry.name" .) -}}
{{- end -}}

{{- define "gantry.selector" -}}
app.kubernetes.io/name: gantry
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/component: operator
{{- end -}}

{{- define "gantry.labels" -}}
{{ include "gantry.selector" . }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
{{- end -}}

{{/* An image by its component: operator, broker, namesrv. */}}
{{- define "gantry.image" -}}
{{- $root := index . 0 -}}
{{- printf "%s/%s:%s" $root.Values.image.registry (index . 1) ($root.Values.image.tag | default $root.Chart.AppVersion) -}}
{{- end -}}

{{/* What the restricted Pod Security level asks of a pod. */}}
{{- define "gantry.podSecurity" -}}
runAsNonRoot: true
runAsUser: 10911
runAsGroup: 10911
seccompProfile: {type: RuntimeDefault}
{{- end -}}

{{- define "gantry.containerSecurity" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities: {drop: [ALL]}
{{- end -}}

{{/* What the operator may do in the namespaces that it serves. */}}
{{- define "gantry.rules" -}}
- apiGroups: [gantrymq.dev]
  resources: [brokerclusters]
  verbs: [get, list, watch, patch]
- apiGroups: [gantrymq.dev]
  resources: [topics]
  verbs: [list, watch, patch]
- apiGroups: [gantrymq.dev]
  resources: [brokerclusters/status, topics/status]
  verbs: [patch]
- apiGroups: [gantrymq.dev]
  resources: [brokerclusters/finalizers]
  verbs: [update]
- apiGroups: [apps]
  resources: [statefulsets]
  verbs: [get, list, watch, create, patch, delete]
- apiGroups: [""]
  resources: [services, configmaps]
  verbs: [get, list, watch, create, patch, delete]
- apiGroups: [""]
  resources: [secrets, serviceaccounts]
  verbs: [get, create, patch]
- apiGroups: [""]
  resources: [pods, persistentvolumeclaims]
  verbs: [get, list, watch, delete]
- apiGroups: [""]
  resources: [events]
  verbs: [list, create, patch]
- apiGroups: [policy]
  resources: [poddisruptionbudgets]
  verbs: [get, list, watch, create, patch, delete]
- apiGroups: [rbac.authorization.k8s.io]
  resources: [roles, rolebindings]
  verbs: [get, create, patch]
# The operator asks a group's master for a switchover by annotations of its Lease. It passes this rule
# and the next two on to brokers, and can only give what it has.
- apiGroups: [coordination.k8s.io]
  resources: [leases]
  verbs: [get, create, update, patch, delete]
- apiGroups: [discovery.k8s.io]
  resources: [endpointslices]
  verbs: [get, list, watch, create, update, delete]
# Where the API server checks it (OpenShift), a slice with addresses of pods needs this as well.
- apiGroups: [discovery.k8s.io]
  resources: [endpointslices/restricted]
  verbs: [create]
{{- end -}}

{{/* What the operator reads outside of namespaces. */}}
{{- define "gantry.clusterRules" -}}
- apiGroups: [""]
  resources: [nodes]
  verbs: [list, watch]
- apiGroups: [""]
  resources: [namespaces]
  verbs: [get]
- apiGroups: [storage.k8s.io]
  resources: [storageclasses]
  verbs: [list, watch]
{{- end -}}
