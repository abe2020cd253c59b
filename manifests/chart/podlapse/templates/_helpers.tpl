{{/* Labels of an object. The argument is a list of the root context and the component. */}}
{{- define "podlapse.labels" -}}
{{- $root := index . 0 -}}
app.kubernetes.io/name: podlapse
app.kubernetes.io/component: {{ index . 1 }}
app.kubernetes.io/part-of: podlapse
app.kubernetes.io/instance: {{ $root.Release.Name }}
app.kubernetes.io/managed-by: {{ $root.Release.Service }}
helm.sh/chart: {{ $root.Chart.Name }}-{{ $root.Chart.Version }}
{{- end -}}

{{/* Not empty if there is a PodMonitor. */}}
{{- define "podlapse.podMonitor" -}}
{{- if or .Values.podMonitor.enabled .Values.kubePrometheusStack.release }}true{{ end -}}
{{- end -}}

{{/* Labels by which a Prometheus operator selects objects. The argument is a list of the root context and the object's own labels. */}}
{{- define "podlapse.selectedLabels" -}}
{{- $labels := deepCopy (index . 1) -}}
{{- with (index . 0).Values.kubePrometheusStack.release -}}
{{- $labels = merge $labels (dict "release" .) -}}
{{- end -}}
{{- with $labels }}{{ toYaml . }}{{ end -}}
{{- end -}}

{{/* The default excludes nodes on which no DaemonSet can run. */}}
{{- define "podlapse.affinity" -}}
{{- $default := fromYaml `
nodeAffinity:
  requiredDuringSchedulingIgnoredDuringExecution:
    nodeSelectorTerms:
    - matchExpressions:
      - {key: type, operator: NotIn, values: [virtual-kubelet]}
      - {key: eks.amazonaws.com/compute-type, operator: NotIn, values: [fargate]}
` -}}
{{- merge (deepCopy .Values.affinity) $default | toYaml -}}
{{- end -}}

{{/* SELinux options of the pod. OpenShift's default types do not permit access to the runtime's socket. */}}
{{- define "podlapse.seLinuxOptions" -}}
{{- $default := ternary (dict "type" "spc_t") (dict) .Values.openshift.enabled -}}
{{- with merge (deepCopy .Values.seLinuxOptions) $default }}{{ toYaml . }}{{ end -}}
{{- end -}}

{{- define "podlapse.selector" -}}
app.kubernetes.io/name: podlapse
app.kubernetes.io/component: agent
{{- end -}}

{{- define "podlapse.image" -}}
{{- with .Values.image -}}
{{ .repository }}{{ if .digest }}@{{ .digest }}{{ else }}:{{ .tag | default $.Chart.AppVersion }}{{ end }}
{{- end -}}
{{- end -}}

{{/* The container runtime. Without quotes, YAML reads the value off as false. */}}
{{- define "podlapse.runtime" -}}
{{- if eq (toString .Values.runtime) "false" -}}
off
{{- else -}}
{{- .Values.runtime | default (ternary "crio" "containerd" .Values.openshift.enabled) -}}
{{- end -}}
{{- end -}}

{{- define "podlapse.socket" -}}
{{- $sockets := dict
  "containerd" "/run/containerd/containerd.sock"
  "crio" "/run/crio/crio.sock"
  "mixed" "/run/containerd/containerd.sock"
  "k3s" "/run/k3s/containerd/containerd.sock"
  "microk8s" "/var/snap/microk8s/common/run/containerd.sock" -}}
{{- .Values.runtimeSocket | default (get $sockets (include "podlapse.runtime" .)) -}}
{{- end -}}

{{/* Without quotes, YAML reads the value off as false. */}}
{{- define "podlapse.events" -}}
{{- ternary "off" .Values.events (eq (toString .Values.events) "false") -}}
{{- end -}}

{{/* The value of an environment variable. Without quotes, YAML reads the values on and off as true and false. */}}
{{- define "podlapse.variable" -}}
{{- if kindIs "bool" . }}{{ ternary "on" "off" . }}{{ else }}{{ . }}{{ end -}}
{{- end -}}

{{/* Not empty if the agent runs as UID 0, because group 0 is not enough. With UID 0 too, the pod has no capabilities. */}}
{{- define "podlapse.asRoot" -}}
{{- if or .Values.stateDir.enabled (eq (include "podlapse.runtime" .) "microk8s") }}true{{ end -}}
{{- end -}}

{{/* Subjects of a role binding. The argument is a list of the root context and the ServiceAccount. */}}
{{- define "podlapse.subjects" -}}
subjects:
- kind: ServiceAccount
  name: {{ index . 1 }}
  namespace: {{ (index . 0).Release.Namespace }}
{{- end -}}
