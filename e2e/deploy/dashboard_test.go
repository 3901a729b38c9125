package deploy

import (
	"bytes"
	"encoding/json"
	"errors"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/grafana/grafana-foundation-sdk/go/cog"
	"github.com/grafana/grafana-foundation-sdk/go/dashboard"
	"github.com/grafana/grafana-foundation-sdk/go/prometheus"
	"github.com/grafana/grafana-foundation-sdk/go/stat"
	"github.com/grafana/grafana-foundation-sdk/go/timeseries"
	"sigs.k8s.io/yaml"
)

const dashboardFile = "deploy/grafana/dashboards/foldgate.json"

// board is the dashboard as Grafana's own types read it. What they do not know fails.
func board(t *testing.T) dashboard.Dashboard {
	t.Helper()
	known := cog.NewRuntime()
	known.RegisterPanelcfgVariant(timeseries.VariantConfig())
	known.RegisterPanelcfgVariant(stat.VariantConfig())
	known.RegisterDataqueryVariant(prometheus.VariantConfig())
	d, err := strict([]byte(read(t, dashboardFile)))
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// strict reads a dashboard. The generated code returns its list of errors as an error
// also when the list is empty.
func strict(raw []byte) (d dashboard.Dashboard, err error) {
	err = d.UnmarshalJSONStrict(raw)
	if list := (cog.BuildErrors)(nil); errors.As(err, &list) && len(list) == 0 {
		err = nil
	}
	return d, err
}

// panel is what is looked at in every panel.
type panel struct {
	ID          int
	Type, Title string
	GridPos     struct{ X, Y, W, H int }
	Datasource  struct{ Type, UID string }
	Targets     []struct {
		Expr, LegendFormat string
		Datasource         struct{ UID string }
	}
	FieldConfig struct{ Defaults struct{ Unit string } }
}

func panels(t *testing.T) []panel {
	t.Helper()
	var d struct{ Panels []panel }
	if err := json.Unmarshal([]byte(read(t, dashboardFile)), &d); err != nil {
		t.Fatal(err)
	}
	return d.Panels
}

func TestDashboardIsOneOfGrafanas(t *testing.T) {
	d := board(t)
	if d.Uid == nil || *d.Uid != "foldgate" || d.Title == nil || *d.Title != "Foldgate" {
		t.Error("the dashboard has no fixed name")
	}
	if err := d.Validate(); err != nil {
		t.Error(err)
	}
	if n := len(d.Panels); n < 20 {
		t.Errorf("found %d panels only", n)
	}
	// A word that Grafana does not know is found.
	if _, err := strict(bytes.Replace([]byte(read(t, dashboardFile)), []byte(`"graphTooltip"`), []byte(`"graphTooltips"`), 1)); err == nil {
		t.Error("an unknown field would not be seen")
	}
}

// Panels lie beside each other, and each can be read.
func TestPanels(t *testing.T) {
	t.Parallel()
	ids, taken := map[int]bool{}, map[[2]int]string{}
	for _, p := range panels(t) {
		if ids[p.ID] {
			t.Errorf("%s: id %d is there twice", p.Title, p.ID)
		}
		ids[p.ID] = true
		if p.GridPos.X+p.GridPos.W > 24 || p.Title == "" {
			t.Errorf("%q at %+v", p.Title, p.GridPos)
		}
		for x := range p.GridPos.W {
			for y := range p.GridPos.H {
				at := [2]int{p.GridPos.X + x, p.GridPos.Y + y}
				if taken[at] != "" {
					t.Fatalf("%s lies over %s", p.Title, taken[at])
				}
				taken[at] = p.Title
			}
		}
		if p.Type == "row" {
			continue
		}
		if len(p.Targets) == 0 || p.FieldConfig.Defaults.Unit == "" || p.Datasource.UID != "${datasource}" {
			t.Errorf("%s asks nothing, has no unit, or asks another source", p.Title)
		}
		for _, target := range p.Targets {
			if target.Datasource.UID != "${datasource}" {
				t.Errorf("%s asks %q", p.Title, target.Datasource.UID)
			}
			// Each line has a name made of what the query keeps.
			for _, m := range regexp.MustCompile(`\{\{(\w+)\}\}`).FindAllStringSubmatch(target.LegendFormat, -1) {
				if !regexp.MustCompile(`by \([^)]*\b` + m[1] + `\b`).MatchString(target.Expr) {
					t.Errorf("%s: the legend wants %s, and %s drops it", p.Title, m[1], target.Expr)
				}
			}
		}
	}
}

// What is provisioned is where docker-compose.yml puts it.
func TestProvisioning(t *testing.T) {
	t.Parallel()
	grafana := project(t).Services["grafana"]
	at := func(target string) string {
		for _, v := range grafana.Volumes {
			if v.Target == target {
				return strings.TrimPrefix(v.Source, root(t)+"/")
			}
		}
		return ""
	}
	var sources struct {
		APIVersion  int `json:"apiVersion"`
		Datasources []struct {
			Name, UID, Type, Access, URL string
			IsDefault, Editable          bool
			JSONData                     struct {
				TimeInterval string `json:"timeInterval"`
			} `json:"jsonData"`
		} `json:"datasources"`
	}
	if err := yaml.UnmarshalStrict([]byte(read(t, at("/etc/grafana/provisioning/datasources")+"/prometheus.yaml")), &sources); err != nil {
		t.Fatal(err)
	}
	source := sources.Datasources[0]
	if source.Type != "prometheus" || !source.IsDefault || !strings.Contains(read(t, "deploy/prometheus/prometheus.yml"), "scrape_interval: "+source.JSONData.TimeInterval) {
		t.Errorf("data source %+v", source)
	}
	if host, port, _ := strings.Cut(strings.TrimPrefix(source.URL, "http://"), ":"); project(t).Services[host].Name == "" ||
		!slices.Contains(project(t).Services[host].Command, "--web.listen-address=:"+port) {
		t.Errorf("nobody listens at %s", source.URL)
	}
	var providers struct {
		APIVersion int `json:"apiVersion"`
		Providers  []struct {
			Name, Type                      string
			DisableDeletion, AllowUIUpdates bool
			Options                         struct{ Path string }
		} `json:"providers"`
	}
	if err := yaml.UnmarshalStrict([]byte(read(t, at("/etc/grafana/provisioning/dashboards")+"/foldgate.yaml")), &providers); err != nil {
		t.Fatal(err)
	}
	if folder := at(providers.Providers[0].Options.Path); folder+"/foldgate.json" != dashboardFile {
		t.Errorf("dashboards are looked for in %s, which is %q", providers.Providers[0].Options.Path, folder)
	}
	if home := *grafana.Environment["GF_DASHBOARDS_DEFAULT_HOME_DASHBOARD_PATH"]; home != providers.Providers[0].Options.Path+"/foldgate.json" {
		t.Errorf("the first page is %s", home)
	}
}
