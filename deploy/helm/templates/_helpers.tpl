{{- define "herald.name" -}}
{{- if contains .Chart.Name .Release.Name -}}
{{ .Release.Name | trunc 52 | trimSuffix "-" }}
{{- else -}}
{{ printf "%s-%s" .Release.Name .Chart.Name | trunc 52 | trimSuffix "-" }}
{{- end -}}
{{- end -}}

{{- define "herald.selector" -}}
app.kubernetes.io/name: {{ .Chart.Name }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "herald.labels" -}}
{{ include "herald.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{- end -}}

{{/* The end of a pod: endpoints forget it, callbacks have their grace, the store is closed. */}}
{{- define "herald.sleepBeforeEnd" -}}5{{- end -}}
{{- define "herald.gracePeriod" -}}{{ add .Values.grace (include "herald.sleepBeforeEnd" . | int) 10 }}{{- end -}}

{{- define "herald.probe" -}}
httpGet: {path: {{ . }}, port: http}
timeoutSeconds: 5
{{- end -}}

{{/* The template of pods, which both kinds of store share. */}}
{{- define "herald.pod" -}}
metadata:
  labels:
    {{- include "herald.labels" . | nindent 4 }}
    {{- with .Values.podLabels }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
  {{- with .Values.podAnnotations }}
  annotations:
    {{- toYaml . | nindent 4 }}
  {{- end }}
spec:
  # Herald does not use the API of Kubernetes.
  automountServiceAccountToken: false
  # The variables of a service called herald look like settings.
  enableServiceLinks: false
  terminationGracePeriodSeconds: {{ include "herald.gracePeriod" . }}
  {{- with .Values.imagePullSecrets }}
  imagePullSecrets:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  securityContext:
    runAsNonRoot: true
    runAsUser: 10001
    runAsGroup: 10001
    fsGroup: 10001
    fsGroupChangePolicy: OnRootMismatch
    seccompProfile: {type: RuntimeDefault}
  containers:
    - name: herald
      {{- with .Values.image }}
      image: {{ if .digest }}{{ .repository }}@{{ .digest }}{{ else }}{{ .repository }}:{{ .tag | default $.Chart.AppVersion }}{{ end }}
      imagePullPolicy: {{ .pullPolicy }}
      {{- end }}
      args: [serve]
      env:
        - {name: HERALD_LISTEN, value: {{ printf "%s:8080" .Values.listen | quote }}}
        {{- if eq .Values.store "postgres" }}
        - name: HERALD_STORE
          valueFrom:
            secretKeyRef: {name: {{ .Values.secret.name | quote }}, key: {{ .Values.secret.databaseURL | quote }}}
        {{- else }}
        # Herald creates this folder for itself alone; the volume is open to the group.
        - {name: HERALD_DATA, value: /data/herald}
        {{- end }}
        - {name: HERALD_ADMIN_KEY_FILE, value: /run/secrets/herald/admin-key}
        {{- if .Values.secret.masterKey }}
        - {name: HERALD_MASTER_KEY_FILE, value: /run/secrets/herald/master-key}
        {{- end }}
        - {name: HERALD_GRACE, value: {{ .Values.grace | quote }}}
        {{- with .Values.allowNetworks }}
        - {name: HERALD_ALLOW_NETWORKS, value: {{ join "," . | quote }}}
        {{- end }}
        {{- with .Values.trustedProxies }}
        - {name: HERALD_TRUSTED_PROXIES, value: {{ join "," . | quote }}}
        {{- end }}
        {{- if and .Values.ingress.host (not (hasKey .Values.settings "HERALD_PUBLIC_URL")) }}
        - name: HERALD_PUBLIC_URL
          value: {{ printf "%s://%s" (ternary "https" "http" (ne .Values.ingress.tlsSecret "")) .Values.ingress.host | quote }}
        {{- end }}
        {{- if index .Values.settings "HERALD_ALLOWED_HOSTS" }}
        # Kubelet and Prometheus name the address of the pod as the host.
        - name: POD_IP
          valueFrom:
            fieldRef: {fieldPath: status.podIP}
        {{- end }}
        {{- range $name, $value := .Values.settings }}
        {{- if and (eq $name "HERALD_ALLOWED_HOSTS") (ne $value "") }}
        - {name: HERALD_ALLOWED_HOSTS, value: {{ printf "%s,$(POD_IP)" $value | quote }}}
        {{- else }}
        - {name: {{ $name }}, value: {{ $value | quote }}}
        {{- end }}
        {{- end }}
      ports:
        - {name: http, containerPort: 8080}
      # An upgrade may migrate a large database for up to an hour.
      startupProbe:
        {{- include "herald.probe" "/healthz" | nindent 8 }}
        periodSeconds: 2
        failureThreshold: 1800
      livenessProbe:
        {{- include "herald.probe" "/healthz" | nindent 8 }}
        periodSeconds: 10
        failureThreshold: 6
      readinessProbe:
        {{- include "herald.probe" "/readyz" | nindent 8 }}
        periodSeconds: 5
        failureThreshold: 2
      lifecycle:
        # Until all endpoints have forgotten the pod, it serves.
        preStop:
          sleep: {seconds: {{ include "herald.sleepBeforeEnd" . }}}
      {{- with .Values.resources }}
      resources:
        {{- toYaml . | nindent 8 }}
      {{- end }}
      securityContext:
        allowPrivilegeEscalation: false
        capabilities: {drop: [ALL]}
        readOnlyRootFilesystem: true
      volumeMounts:
        - {name: data, mountPath: /data}
        - {name: secret, mountPath: /run/secrets/herald, readOnly: true}
        {{- with .Values.extraVolumeMounts }}
        {{- toYaml . | nindent 8 }}
        {{- end }}
  volumes:
    {{- if eq .Values.store "postgres" }}
    - {name: data, emptyDir: {}}
    {{- end }}
    - name: secret
      secret:
        secretName: {{ .Values.secret.name | quote }}
        # Readable by root and the group of the pod.
        defaultMode: 0440
        items:
          - {key: {{ .Values.secret.adminKey | quote }}, path: admin-key}
          {{- with .Values.secret.masterKey }}
          - {key: {{ . | quote }}, path: master-key}
          {{- end }}
    {{- with .Values.extraVolumes }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
  {{- if and (eq .Values.store "postgres") (not .Values.affinity) }}
  topologySpreadConstraints:
    - maxSkew: 1
      topologyKey: kubernetes.io/hostname
      whenUnsatisfiable: ScheduleAnyway
      labelSelector:
        matchLabels:
          {{- include "herald.selector" . | nindent 10 }}
  {{- end }}
  {{- with .Values.nodeSelector }}
  nodeSelector:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with .Values.tolerations }}
  tolerations:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with .Values.affinity }}
  affinity:
    {{- toYaml . | nindent 4 }}
  {{- end }}
{{- end -}}
