#!/bin/bash
# The first process of a node, in mount, uts, ipc, net and pid namespaces of its own.
#
# It gives the node its address, a disk and a /run of its own, then keeps containerd, the kubelet
# and kube-proxy running. cluster/local/nodes.py starts it, and passes NODE, ADDRESS, GATEWAY,
# POD_ROUTES, LABELS, KUBECONFIG, DISK, CONFIG and LOGS (cluster/local/components.py).
set -euo pipefail

set_up_network() {
    hostname "$NODE"
    until ip link show eth0 >/dev/null 2>&1; do sleep 0.05; done # nodes.py plugs the cable in
    ip link set lo up
    ip address add "$ADDRESS/24" dev eth0
    ip link set eth0 up
    ip route add default via "$GATEWAY"
    for route in $POD_ROUTES; do ip route add "${route%,*}" via "${route#*,}"; done
    sysctl -qw net.ipv4.ip_forward=1 net.bridge.bridge-nf-call-iptables=1 net.ipv4.conf.all.rp_filter=0
}

# /sys again, so that it shows this network namespace, with the host's control groups below it.
# This must happen while all mounts are private: of shared ones, the unmount of the copy would
# unmount the original too.
set_up_sys() {
    local groups
    groups=$(mktemp -d)
    mount --rbind /sys/fs/cgroup "$groups"
    mount -t sysfs sysfs /sys
    mount --rbind "$groups" /sys/fs/cgroup
    umount --lazy "$groups"
    rmdir "$groups"
}

set_up_disk() {
    local folder
    mount --make-rshared / # the kubelet passes mounts on to its containers
    for folder in $NODE_FOLDERS; do
        mkdir -p "$folder" "$DISK$folder"
        mount --bind "$DISK$folder" "$folder"
        mount --make-rshared "$folder"
    done
    mount -t tmpfs -o mode=755 tmpfs /run
    mkdir /run/lock
    : >/run/resolv.conf # no name server but the cluster's
    cp "$CONFIG/cni.conflist" /etc/cni/net.d/10-gantry.conflist
}

keep_running() { # NAME COMMAND...: as an init system would
    local name=$1
    shift
    while :; do
        "$@" || true
        echo "node init: $name ended, starting it again"
        sleep 1
    done >>"$LOGS/$NODE-$name.log" 2>&1
}

set_up_network
set_up_sys
set_up_disk
keep_running containerd containerd --config "$CONFIG/containerd.toml" &
until [ -e /run/images-loaded ]; do sleep 0.05; done # by nodes.py: no image can be pulled later
keep_running kubelet kubelet --config "$CONFIG/kubelet.yaml" --kubeconfig "$KUBECONFIG" \
    --hostname-override "$NODE" --node-ip "$ADDRESS" --node-labels "$LABELS" &
keep_running kube-proxy kube-proxy --config "$CONFIG/kube-proxy.yaml" &
wait # for ever; bash also reaps the orphans of the node
