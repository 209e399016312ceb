{{/* Drivers and executors of spark.jobs. A job reaches these helpers as a dict of `root` (the chart's
scope) and `job` (an item of spark.jobs whose resources are completed, see gantry.sparkJob). */}}

{{- define "gantry.sparkName" -}}
{{- if eq .Release.Name "gantry" -}}gantry-spark{{- else -}}{{ printf "%s-gantry-spark" .Release.Name }}{{- end -}}
{{- end -}}

{{- define "gantry.sparkImage" -}}
{{- .Values.spark.image | default (include "gantry.image" (list . "spark")) -}}
{{- end -}}

{{/* An item of spark.jobs with the defaults of all jobs, as JSON. Fails on what does not go together. */}}
{{- define "gantry.sparkJob" -}}
{{- $root := index . 0 -}}
{{- $job := deepCopy (index . 1) -}}
{{- $_ := set $job "engine" ($job.engine | default "job") -}}
{{- $_ := set $job "namespace" ($job.namespace | default $root.Release.Namespace) -}}
{{- $_ := set $job "fullName" (printf "%s-%s" $root.Release.Name $job.name) -}}
{{- $_ := set $job "resources" (mergeOverwrite (deepCopy $root.Values.spark.resources) ($job.resources | default dict)) -}}
{{- $what := printf "spark.jobs: the job %s" $job.name -}}
{{- if gt (len $job.fullName) 52 -}}
{{- fail (printf "%s: release and name make %s, which is longer than the 52 characters that a CronJob may have; give it a shorter name" $what $job.fullName) -}}
{{- end -}}
{{- if and $job.schedule $job.continuous -}}
{{- fail (printf "%s has a schedule and is continuous; a stream that never ends needs no schedule, so remove one of them" $what) -}}
{{- end -}}
{{- if and $job.continuous (not (or (eq $job.job "archive") (hasPrefix "/" $job.job))) -}}
{{- fail (printf "%s is continuous, and %s ends by itself; only archive and programs of your own can be continuous" $what $job.job) -}}
{{- end -}}
{{- if eq $job.engine "kubeflow" -}}
{{- if not ($root.Capabilities.APIVersions.Has "sparkoperator.k8s.io/v1beta2") -}}
{{- fail (printf "%s has the engine kubeflow, and this Kubernetes does not know sparkoperator.k8s.io/v1beta2; install the Spark operator of Kubeflow first, or use the engine job" $what) -}}
{{- end -}}
{{- if lt (int $job.resources.executors.count) 1 -}}
{{- fail (printf "%s has the engine kubeflow, which starts executors; set resources.executors.count to 1 or more, or use the engine job" $what) -}}
{{- end -}}
{{- end -}}
{{- toJson $job -}}
{{- end -}}

{{/* Of what all jobs of a namespace share. */}}
{{- define "gantry.sparkSharedLabels" -}}
app.kubernetes.io/name: gantry
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/component: spark
app.kubernetes.io/managed-by: {{ .Release.Service }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
{{- end -}}

{{- define "gantry.sparkSelector" -}}
app.kubernetes.io/name: gantry
app.kubernetes.io/instance: {{ .root.Release.Name }}
app.kubernetes.io/component: spark
gantrymq.dev/spark-job: {{ .job.name }}
{{- end -}}

{{- define "gantry.sparkLabels" -}}
{{ include "gantry.sparkSharedLabels" .root }}
gantrymq.dev/spark-job: {{ .job.name }}
{{- end -}}

{{/* 185 is the user of the image. */}}
{{- define "gantry.sparkPodSecurity" -}}
runAsNonRoot: true
runAsUser: 185
runAsGroup: 185
fsGroup: 185
fsGroupChangePolicy: OnRootMismatch
seccompProfile: {type: RuntimeDefault}
{{- end -}}

{{/* Settings of the session that do not depend on the engine. */}}
{{- define "gantry.sparkSettings" -}}
spark.app.name: {{ .job.name }}
spark.python.unix.domain.socket.enabled: "true"
spark.sql.python.filterPushdown.enabled: "true"
spark.sql.streaming.metricsEnabled: "true"
spark.ui.showConsoleProgress: "false"
{{- end -}}

{{/* Settings of a driver that runs its tasks itself. */}}
{{- define "gantry.sparkLocalSettings" -}}
{{- /* Three attempts of each task, as with executors. */}}
spark.master: {{ printf "local[%d, 3]" (int .job.resources.driver.cores) }}
spark.driver.host: 127.0.0.1
spark.driver.bindAddress: 127.0.0.1
{{- end -}}

{{/* Settings of a driver whose executors are pods. They belong to the driver's pod, and go with it. */}}
{{- define "gantry.sparkExecutorSettings" -}}
{{- $executors := .job.resources.executors -}}
spark.master: k8s://https://kubernetes.default.svc:443
spark.driver.host: ${env:POD_IP}
spark.driver.bindAddress: 0.0.0.0
spark.driver.port: "7078"
spark.driver.blockManager.port: "7079"
spark.kubernetes.namespace: {{ .job.namespace }}
spark.kubernetes.driver.pod.name: ${env:POD_NAME}
spark.kubernetes.container.image: {{ include "gantry.sparkImage" .root }}
spark.kubernetes.container.image.pullPolicy: {{ .root.Values.image.pullPolicy }}
{{- with .root.Values.image.pullSecrets }}
spark.kubernetes.container.image.pullSecrets: {{ join "," . }}
{{- end }}
spark.kubernetes.executor.podTemplateFile: /opt/spark/conf/executor.yaml
spark.kubernetes.executor.podTemplateContainerName: executor
spark.kubernetes.executor.request.cores: {{ $executors.cpu | quote }}
spark.executor.instances: {{ $executors.count | quote }}
spark.executor.cores: {{ $executors.cores | quote }}
spark.executor.memory: {{ int $executors.memoryMiB }}m
spark.executor.memoryOverhead: {{ int $executors.overheadMiB }}m
{{- end -}}

{{/* The lines of spark-defaults.conf; what the job's conf says wins. */}}
{{- define "gantry.sparkDefaults" -}}
{{- $settings := include "gantry.sparkSettings" . | fromYaml -}}
{{- $_ := set $settings "spark.driver.memory" (printf "%dm" (int .job.resources.driver.memoryMiB)) -}}
{{- $of := ternary "gantry.sparkExecutorSettings" "gantry.sparkLocalSettings" (gt (int .job.resources.executors.count) 0) -}}
{{- $settings = mergeOverwrite $settings (include $of . | fromYaml) (.job.conf | default dict) -}}
{{- range $name, $value := $settings -}}
{{ $name }} {{ $value }}
{{ end -}}
{{- end -}}

{{/* What follows the image's entrypoint: a shipped job, or a program in Python. */}}
{{- define "gantry.sparkArguments" -}}
{{- if hasPrefix "/" .job.job }}
{{- range .job.args }}
- {{ . | quote }}
{{- end }}
{{- else }}
- {{ .job.job }}
- --name={{ .job.name }}
{{- if .job.credentialsSecret }}
- --option=credentialsFile=/etc/gantry/credentials/tools.yml
{{- end }}
{{- if .job.continuous }}
- --continuous={{ ternary .job.continuous "10s" (kindIs "string" .job.continuous) }}
- --metrics-port=9990
{{- end }}
{{- range .job.args }}
- {{ . | quote }}
{{- end }}
{{- end }}
{{- end -}}

{{- define "gantry.sparkEnvironment" -}}
{{- with .job.nameServers }}
- {name: NAMESRV_ADDR, value: {{ . | quote }}}
{{- end }}
{{- with .job.env }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{- define "gantry.sparkClaim" -}}
{{- .job.storage.claim | default .job.fullName -}}
{{- end -}}

{{/* Volumes that driver and executors both have. */}}
{{- define "gantry.sparkVolumes" -}}
- name: tmp
  emptyDir: {sizeLimit: {{ .job.resources.scratch }}}
- name: work
  emptyDir: {sizeLimit: {{ .job.resources.scratch }}}
{{- if .job.storage }}
- name: data
  persistentVolumeClaim: {claimName: {{ include "gantry.sparkClaim" . }}}
{{- end }}
{{- with .job.credentialsSecret }}
- name: credentials
  secret: {secretName: {{ . }}, defaultMode: 0440}
{{- end }}
{{- end -}}

{{- define "gantry.sparkMounts" -}}
- {name: tmp, mountPath: /tmp}
- {name: work, mountPath: /opt/spark/work-dir}
{{- with .job.storage }}
- {name: data, mountPath: {{ .mountPath | default "/data" }}}
{{- end }}
{{- if .job.credentialsSecret }}
- {name: credentials, mountPath: /etc/gantry/credentials, readOnly: true}
{{- end }}
{{- end -}}

{{- define "gantry.sparkPlacement" -}}
{{- with .job.nodeSelector }}
nodeSelector: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .job.tolerations }}
tolerations: {{- toYaml . | nindent 2 }}
{{- end }}
{{- end -}}

{{/* The pod that Spark makes its executors from. */}}
{{- define "gantry.sparkExecutor" -}}
apiVersion: v1
kind: Pod
metadata:
  labels: {{- include "gantry.sparkLabels" . | nindent 4 }}
spec:
  automountServiceAccountToken: false
  enableServiceLinks: false
  securityContext: {{- include "gantry.sparkPodSecurity" . | nindent 4 }}
  containers:
  - name: executor
    {{- with include "gantry.sparkEnvironment" . | trim }}
    env: {{- . | nindent 4 }}
    {{- end }}
    securityContext: {{- include "gantry.containerSecurity" . | nindent 6 }}
    volumeMounts: {{- include "gantry.sparkMounts" . | nindent 4 }}
    - {name: spark-local-dir-1, mountPath: /var/data/spark}
  volumes: {{- include "gantry.sparkVolumes" . | nindent 2 }}
  - name: spark-local-dir-1
    emptyDir: {sizeLimit: {{ .job.resources.scratch }}}
  {{- with include "gantry.sparkPlacement" . | trim }}
  {{- . | nindent 2 }}
  {{- end }}
{{- end -}}

{{/* The driver's pod: a Python program starts Spark, so it is the one that SIGTERM reaches. */}}
{{- define "gantry.sparkDriver" -}}
{{- $driver := .job.resources.driver -}}
{{- $hasExecutors := gt (int .job.resources.executors.count) 0 -}}
{{- $memory := printf "%dMi" (add $driver.memoryMiB $driver.overheadMiB) -}}
serviceAccountName: {{ include "gantry.sparkName" .root }}
automountServiceAccountToken: {{ $hasExecutors }}
enableServiceLinks: false
# After SIGTERM a stream ends with the micro-batch in hand.
terminationGracePeriodSeconds: 60
securityContext: {{- include "gantry.sparkPodSecurity" . | nindent 2 }}
{{- with .root.Values.image.pullSecrets }}
imagePullSecrets:
{{- range . }}
- name: {{ . }}
{{- end }}
{{- end }}
containers:
- name: driver
  image: {{ include "gantry.sparkImage" .root }}
  imagePullPolicy: {{ .root.Values.image.pullPolicy }}
  args:
  {{- if hasPrefix "/" .job.job }}
  - python3
  - {{ .job.job }}
  {{- else }}
  - gantry
  - spark
  {{- end }}
  {{- include "gantry.sparkArguments" . | nindent 2 }}
  env:
  - name: POD_NAME
    valueFrom: {fieldRef: {fieldPath: metadata.name}}
  - name: POD_IP
    valueFrom: {fieldRef: {fieldPath: status.podIP}}
  {{- with include "gantry.sparkEnvironment" . | trim }}
  {{- . | nindent 2 }}
  {{- end }}
  ports:
  - {name: metrics, containerPort: 9990}
  - {name: ui, containerPort: 4040}
  {{- if $hasExecutors }}
  - {name: driver, containerPort: 7078}
  - {name: blocks, containerPort: 7079}
  {{- end }}
  resources:
    requests: {cpu: {{ $driver.cpu }}, memory: {{ $memory }}}
    limits: {memory: {{ $memory }}}
  securityContext: {{- include "gantry.containerSecurity" . | nindent 4 }}
  volumeMounts: {{- include "gantry.sparkMounts" . | nindent 2 }}
  - {name: conf, mountPath: /opt/spark/conf, readOnly: true}
volumes: {{- include "gantry.sparkVolumes" . | nindent 0 }}
- name: conf
  configMap: {name: {{ .job.fullName }}}
{{- with include "gantry.sparkPlacement" . | trim }}
{{ . }}
{{- end }}
{{- end -}}

{{/* The spec of a Job: never two pods at once, and no second try of arguments that are wrong. */}}
{{- define "gantry.sparkJobSpec" -}}
backoffLimit: 3
# Two drivers with one checkpoint would corrupt it.
podReplacementPolicy: Failed
podFailurePolicy:
  rules:
  - action: FailJob
    # Wrong arguments, missing settings: the same arguments fail again.
    onExitCodes: {containerName: driver, operator: In, values: [2, 78]}
ttlSecondsAfterFinished: 86400
template:
  metadata:
    labels: {{- include "gantry.sparkLabels" . | nindent 6 }}
  spec:
    restartPolicy: Never
    {{- include "gantry.sparkDriver" . | nindent 4 }}
{{- end -}}

{{/* The spec of a Job that mounts a scheduled job's volume, and says whether it can be written. */}}
{{- define "gantry.sparkFirstMount" -}}
backoffLimit: 3
ttlSecondsAfterFinished: 300
template:
  metadata:
    labels:
      app.kubernetes.io/instance: {{ .root.Release.Name }}
      app.kubernetes.io/component: spark-volume
  spec:
    restartPolicy: Never
    serviceAccountName: {{ include "gantry.sparkName" .root }}
    automountServiceAccountToken: false
    enableServiceLinks: false
    securityContext: {{- include "gantry.sparkPodSecurity" . | nindent 6 }}
    {{- with .root.Values.image.pullSecrets }}
    imagePullSecrets:
    {{- range . }}
    - name: {{ . }}
    {{- end }}
    {{- end }}
    containers:
    - name: mount
      image: {{ include "gantry.sparkImage" .root }}
      imagePullPolicy: {{ .root.Values.image.pullPolicy }}
      command: [test, -w, {{ .job.storage.mountPath | default "/data" }}]
      resources:
        requests: {cpu: 10m, memory: 16Mi}
        limits: {memory: 64Mi}
      securityContext: {{- include "gantry.containerSecurity" . | nindent 8 }}
      volumeMounts: {{- include "gantry.sparkMounts" . | nindent 6 }}
    volumes: {{- include "gantry.sparkVolumes" . | nindent 4 }}
    {{- with include "gantry.sparkPlacement" . | trim }}
    {{- . | nindent 4 }}
    {{- end }}
{{- end -}}
