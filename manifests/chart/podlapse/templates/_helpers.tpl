{{/* Labels of an object; the argument is a list of the root and the component. */}}
{{- define "podlapse.labels" -}}
{{- $root := index . 0 -}}
app.kubernetes.io/name: podlapse
app.kubernetes.io/component: {{ index . 1 }}
app.kubernetes.io/part-of: podlapse
app.kubernetes.io/instance: {{ $root.Release.Name }}
app.kubernetes.io/managed-by: {{ $root.Release.Service }}
helm.sh/chart: {{ $root.Chart.Name }}-{{ $root.Chart.Version }}
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

{{- define "podlapse.socket" -}}
{{- $sockets := dict
  "containerd" "/run/containerd/containerd.sock"
  "crio" "/run/crio/crio.sock"
  "k3s" "/run/k3s/containerd/containerd.sock"
  "microk8s" "/var/snap/microk8s/common/run/containerd.sock" -}}
{{- $runtime := .Values.runtime | default (ternary "crio" "containerd" .Values.openshift.enabled) -}}
{{- .Values.runtimeSocket | default (get $sockets $runtime) -}}
{{- end -}}

{{/* YAML reads off without quotes as false. */}}
{{- define "podlapse.events" -}}
{{- ternary "off" .Values.events (eq (toString .Values.events) "false") -}}
{{- end -}}

{{/* UID 0 where group 0 is not enough; still without capabilities. */}}
{{- define "podlapse.asRoot" -}}
{{- if or .Values.stateDir.enabled (eq .Values.runtime "microk8s") }}true{{ end -}}
{{- end -}}

{{/* Whom a role is bound to; the argument is a list of the root and the ServiceAccount. */}}
{{- define "podlapse.subjects" -}}
subjects:
- kind: ServiceAccount
  name: {{ index . 1 }}
  namespace: {{ (index . 0).Release.Namespace }}
{{- end -}}
