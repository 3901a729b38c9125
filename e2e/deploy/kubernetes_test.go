package deploy

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	operator "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	apps "k8s.io/api/apps/v1"
	autoscaling "k8s.io/api/autoscaling/v2"
	core "k8s.io/api/core/v1"
	networking "k8s.io/api/networking/v1"
	policy "k8s.io/api/policy/v1"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"
	"sigs.k8s.io/yaml"
)

// cluster is what "kubectl apply -k" would send, each object decoded into Kubernetes'
// own type, where an unknown field fails.
type cluster struct {
	deployment apps.Deployment
	services   map[string]core.Service
	account    core.ServiceAccount
	namespace  core.Namespace
	config     core.ConfigMap
	budget     policy.PodDisruptionBudget
	scaler     autoscaling.HorizontalPodAutoscaler
	network    networking.NetworkPolicy
}

// objects are the manifests that kustomize makes of a folder, by kind and name.
func objects(t *testing.T, folder string) map[[2]string][]byte {
	t.Helper()
	made, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(filesys.MakeFsOnDisk(), filepath.Join(root(t), folder))
	if err != nil {
		t.Fatal(err)
	}
	all := map[[2]string][]byte{}
	for _, r := range made.Resources() {
		raw, err := r.AsYAML()
		if err != nil {
			t.Fatal(err)
		}
		all[[2]string{r.GetKind(), r.GetName()}] = raw
	}
	return all
}

func newCluster(t *testing.T) cluster {
	t.Helper()
	c := cluster{services: map[string]core.Service{}}
	for id, raw := range objects(t, "deploy/kubernetes") {
		var err error
		switch id[0] {
		case "Deployment":
			err = yaml.UnmarshalStrict(raw, &c.deployment)
		case "Service":
			var s core.Service
			err = yaml.UnmarshalStrict(raw, &s)
			c.services[s.Name] = s
		case "ServiceAccount":
			err = yaml.UnmarshalStrict(raw, &c.account)
		case "Namespace":
			err = yaml.UnmarshalStrict(raw, &c.namespace)
		case "ConfigMap":
			err = yaml.UnmarshalStrict(raw, &c.config)
		case "PodDisruptionBudget":
			err = yaml.UnmarshalStrict(raw, &c.budget)
		case "HorizontalPodAutoscaler":
			err = yaml.UnmarshalStrict(raw, &c.scaler)
		case "NetworkPolicy":
			err = yaml.UnmarshalStrict(raw, &c.network)
		default:
			t.Errorf("%v: nothing here checks it", id)
		}
		if err != nil {
			t.Errorf("%v: %v", id, err)
		}
	}
	if t.Failed() {
		t.FailNow()
	}
	return c
}

func (c cluster) pod() core.PodSpec { return c.deployment.Spec.Template.Spec }

func (c cluster) container(t *testing.T) core.Container {
	t.Helper()
	if n := len(c.pod().Containers); n != 1 || len(c.pod().InitContainers) > 0 {
		t.Fatalf("%d containers", n)
	}
	return c.pod().Containers[0]
}

const configuration = "deploy/kubernetes/gateway.yaml"

// What must find the pods finds them, and nothing else does.
func TestSelectors(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	pod := labels.Set(c.deployment.Spec.Template.Labels)
	finds := func(who string, s *meta.LabelSelector) {
		t.Helper()
		selector, err := meta.LabelSelectorAsSelector(s)
		if err != nil || selector.Empty() || !selector.Matches(pod) {
			t.Errorf("%s finds no pod, or all: %v %v", who, selector, err)
		}
	}
	finds("the deployment", c.deployment.Spec.Selector)
	finds("the budget", c.budget.Spec.Selector)
	finds("the network policy", &c.network.Spec.PodSelector)
	for _, spread := range c.pod().TopologySpreadConstraints {
		finds("the spread over "+spread.TopologyKey, spread.LabelSelector)
	}
	for name, s := range c.services {
		finds("service "+name, &meta.LabelSelector{MatchLabels: s.Spec.Selector})
	}
	if r := c.scaler.Spec.ScaleTargetRef; r.Kind != "Deployment" || r.Name != c.deployment.Name || r.APIVersion != c.deployment.APIVersion {
		t.Errorf("the scaler scales %v", r)
	}
	if c.deployment.Spec.Replicas != nil {
		t.Error("the deployment's number of replicas would undo the scaler's")
	}
	if *c.scaler.Spec.MinReplicas < 2 || c.budget.Spec.MaxUnavailable.IntValue() != 1 {
		t.Error("one node that is drained takes all replicas")
	}
	for _, namespace := range []string{c.deployment.Namespace, c.budget.Namespace, c.scaler.Namespace, c.network.Namespace, c.config.Namespace, c.account.Namespace} {
		if namespace != c.namespace.Name {
			t.Errorf("something is in namespace %q", namespace)
		}
	}
}

// Ports have the names and numbers under which others ask for them.
func TestPorts(t *testing.T) {
	t.Parallel()
	c, s := newCluster(t), settingsOf(t, configuration)
	ports := map[string]string{}
	for _, p := range c.container(t).Ports {
		ports[p.Name] = fmt.Sprint(p.ContainerPort)
	}
	want := map[string]string{"http": port(s.Listen), "admin": port(s.AdminListen)}
	if !reflect.DeepEqual(ports, want) {
		t.Errorf("ports %v, the configuration says %v", ports, want)
	}
	for name, service := range c.services {
		for _, p := range service.Spec.Ports {
			if ports[p.TargetPort.StrVal] == "" {
				t.Errorf("service %s sends to port %s", name, p.TargetPort.String())
			}
			if plane := map[string]string{"foldgate": "http", "foldgate-admin": "admin"}[name]; p.TargetPort.StrVal != plane {
				t.Errorf("service %s leads to %s", name, p.TargetPort.StrVal)
			}
		}
	}
	for _, host := range s.AdminHosts {
		if service, _, _ := strings.Cut(host, "."); c.services[service].Name == "" {
			t.Errorf("admin_hosts names %s, which is no service", host)
		}
	}
	allowed := map[string]int{}
	for _, rule := range c.network.Spec.Ingress {
		for _, p := range rule.Ports {
			allowed[p.Port.StrVal] += len(rule.From)
		}
		if len(rule.From) == 0 || len(rule.Ports) != 1 {
			t.Errorf("a rule lets in more than one port, or anybody: %+v", rule)
		}
	}
	if !reflect.DeepEqual(allowed, map[string]int{"http": 2, "admin": 1}) {
		t.Errorf("let in are %v", allowed)
	}
	if !slices.Equal(c.network.Spec.PolicyTypes, []networking.PolicyType{"Ingress", "Egress"}) {
		t.Errorf("the policy is about %v", c.network.Spec.PolicyTypes)
	}
}

// Probes ask what the admin plane answers without a token, and notice in time.
func TestProbes(t *testing.T) {
	t.Parallel()
	c, s := newCluster(t), settingsOf(t, configuration)
	one := c.container(t)
	for path, probe := range map[string]*core.Probe{"/livez": one.LivenessProbe, "/readyz": one.ReadinessProbe} {
		if probe.HTTPGet.Path != path || probe.HTTPGet.Port.StrVal != "admin" || len(probe.HTTPGet.HTTPHeaders) > 0 {
			t.Errorf("the probe asks %+v", probe.HTTPGet)
		}
		if !strings.Contains(read(t, "openapi.yaml"), "\n  "+path+":") {
			t.Errorf("openapi.yaml has no %s", path)
		}
	}
	noticed := time.Duration(one.ReadinessProbe.PeriodSeconds*one.ReadinessProbe.FailureThreshold) * time.Second
	if delay := duration(t, s.DrainDelay); delay < noticed {
		t.Errorf("a probe notices after %v, and drain_delay is %v", noticed, delay)
	}
	grace := time.Duration(*c.pod().TerminationGracePeriodSeconds) * time.Second
	if least := duration(t, s.DrainDelay) + duration(t, s.Drain) + 5*time.Second; grace < least {
		t.Errorf("the grace period is %v, draining needs %v", grace, least)
	}
	if u := c.deployment.Spec.Strategy.RollingUpdate; u.MaxUnavailable.IntValue() != 0 || u.MaxSurge.IntValue() < 1 {
		t.Errorf("an update takes replicas away before there are others: %+v", u)
	}
}

func TestMemoryOfThePod(t *testing.T) {
	t.Parallel()
	c, s := newCluster(t), settingsOf(t, configuration)
	one := c.container(t)
	limit, set := bytesOf(t, env(one, "GOMEMLIMIT").Value), one.Resources.Limits.Memory().Value()
	if limit != worst(t, s) || set-limit < 32*mib || set-limit > 256*mib {
		t.Errorf("GOMEMLIMIT %d MiB, memory %s makes it %d, the pod's limit is %d", limit/mib, s.Memory, worst(t, s)/mib, set/mib)
	}
	if request := one.Resources.Requests.Memory().Value(); request != set {
		t.Errorf("%d MiB are asked for and %d may be used: a full node would kill it", request/mib, set/mib)
	}
	if one.Resources.Requests.Cpu().IsZero() {
		t.Error("without a request of CPU the scaler has nothing to measure by")
	}
}

func env(c core.Container, name string) core.EnvVar {
	for _, e := range c.Env {
		if e.Name == name {
			return e
		}
	}
	return core.EnvVar{}
}

// What the namespace's level "restricted" wants of pods, and what is left out of ours.
func TestPodIsRestricted(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	pod, one := c.pod(), c.container(t)
	if c.namespace.Labels["pod-security.kubernetes.io/enforce"] != "restricted" {
		t.Error("the namespace takes other pods")
	}
	s := pod.SecurityContext
	if !*s.RunAsNonRoot || s.SeccompProfile.Type != core.SeccompProfileTypeRuntimeDefault || pod.HostNetwork || pod.HostPID || pod.HostIPC {
		t.Errorf("pod: %+v", s)
	}
	user, _, _ := strings.Cut(stages(t)["gateway"].user, ":")
	if got := fmt.Sprint(*s.RunAsUser); got != user {
		t.Errorf("it runs as %s, the image's user is %s", got, user)
	}
	l := one.SecurityContext
	if *l.AllowPrivilegeEscalation || !*l.ReadOnlyRootFilesystem || !slices.Equal(l.Capabilities.Drop, []core.Capability{"ALL"}) || len(l.Capabilities.Add) > 0 || l.Privileged != nil {
		t.Errorf("container: %+v", l)
	}
	for _, v := range pod.Volumes {
		if v.ConfigMap == nil && v.Secret == nil {
			t.Errorf("volume %s is of another kind", v.Name)
		}
	}
	if *pod.AutomountServiceAccountToken || *c.account.AutomountServiceAccountToken || pod.ServiceAccountName != c.account.Name || *pod.EnableServiceLinks {
		t.Error("the pod is told of the cluster what it does not need")
	}
	if !regexp.MustCompile(`/foldgate:\d+\.\d+\.\d+$`).MatchString(one.Image) {
		t.Errorf("image %q is not pinned", one.Image)
	}
}

// The configuration, with the secrets where the pod mounts them and the variables that
// it sets, is one that "gateway check" takes.
func TestConfigurationOfThePod(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	pod, one := c.pod(), c.container(t)
	home := t.TempDir()
	put := func(name, text string) {
		t.Helper()
		name = filepath.Join(home, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	mounted := map[string]string{} // volume to path
	for _, m := range one.VolumeMounts {
		mounted[m.Name] = m.MountPath
	}
	for _, v := range pod.Volumes {
		switch {
		case v.ConfigMap != nil:
			if v.ConfigMap.Name != c.config.Name {
				t.Errorf("the pod wants the configuration %s, there is %s", v.ConfigMap.Name, c.config.Name)
			}
			for name, text := range c.config.Data {
				put(mounted[v.Name]+"/"+name, strings.ReplaceAll(text, "/run/secrets/", home+"/run/secrets/"))
			}
		case v.Secret != nil:
			for _, item := range v.Secret.Items {
				put(mounted[v.Name]+"/"+item.Path, strings.Repeat("0123456789abcdef", 4))
			}
		}
	}
	given := map[string]string{}
	for _, e := range one.Env {
		if from := e.ValueFrom; from != nil {
			if from.SecretKeyRef.Name != "foldgate" || from.SecretKeyRef.Key != "redis-url" {
				t.Errorf("%s comes from %+v", e.Name, from.SecretKeyRef)
			}
			e.Value = "redis://:secret@redis:6379/0"
		}
		given[e.Name] = e.Value
	}
	given["FOLDGATE_CONFIG"] = home + given["FOLDGATE_CONFIG"]
	said := outputOf(t, environment(given), programsOf(t).gateway, "check")
	if strings.Contains(said, "warning") || strings.Contains(said, "unknown") {
		t.Errorf("gateway check: %s", said)
	}
	if !slices.Equal(one.Args, []string{"serve"}) {
		t.Errorf("it runs %v", one.Args)
	}
	// The names of keys that docs/deploying.md has you make.
	for _, key := range []string{"redis-url", "admin-token", "tenant-secret"} {
		if !strings.Contains(read(t, "docs/deploying.md"), key) {
			t.Errorf("docs/deploying.md does not make the key %s", key)
		}
	}
}

// For the Prometheus operator: its own types, the service that there is, and the rules
// that there are.
func TestMonitoring(t *testing.T) {
	t.Parallel()
	c, all := newCluster(t), objects(t, "deploy/kubernetes/monitoring")
	var monitor operator.ServiceMonitor
	if err := yaml.UnmarshalStrict(all[[2]string{"ServiceMonitor", "foldgate"}], &monitor); err != nil {
		t.Fatal(err)
	}
	selector, err := meta.LabelSelectorAsSelector(&monitor.Spec.Selector)
	if err != nil {
		t.Fatal(err)
	}
	for name, s := range c.services {
		if selector.Matches(labels.Set(s.Labels)) != (name == "foldgate-admin") {
			t.Errorf("it finds, or does not find, service %s", name)
		}
	}
	end := monitor.Spec.Endpoints[0]
	if end.Port != c.services["foldgate-admin"].Spec.Ports[0].Name || end.Path != "/metrics" ||
		end.Authorization.Credentials.Name != "foldgate" || end.Authorization.Credentials.Key != "admin-token" {
		t.Errorf("it asks %+v", end)
	}
	var rule operator.PrometheusRule
	if err := yaml.UnmarshalStrict(all[[2]string{"PrometheusRule", "foldgate"}], &rule); err != nil {
		t.Fatal(err)
	}
	var rules operator.PrometheusRuleSpec
	if err := yaml.UnmarshalStrict([]byte(read(t, "docs/alerts.yaml")), &rules); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(rule.Spec, rules) {
		t.Error("the rules are not those of docs/alerts.yaml")
	}
}
