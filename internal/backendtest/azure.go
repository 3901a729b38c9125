package backendtest

import (
	"net/url"
	"strings"
)

// deployment is the one that Azure's server has.
const deployment = "house-deployment"

func azure() Backend {
	b := openAI()
	b.Name, b.Model = "Azure OpenAI", ""
	b.Path = "/openai/deployments/" + deployment + "/chat/completions?api-version=2024-10-21"
	b.Auth, b.Scheme = "api-key", ""
	b.Window = "by the name of the deployment, which counts as the model where the body names none: `windows`, the table where the deployment is called as its model, an overflow error"
	b.Note = "The query `api-version` goes on as it came. A deployment may allow less than its model. The first chunk of a stream has no choices but the results of a filter."
	b.rules = openAIMessageRules()
	b.denied = fault{status: 401, code: "401", message: "Access denied due to invalid subscription key or wrong API endpoint. Make sure to provide a valid key for an active subscription and use a correct regional API endpoint for your resource."}
	b.nowhere = fault{status: 404, code: "404", message: "Resource not found"}
	b.shape = azureShape
	b.missing = azurePath
	b.frames = framing{filter: true}
	b.models = nil
	return b
}

// azureShape: what the service says by itself has two members only, what the
// model's server says has four.
func azureShape(f fault) string {
	if f.code == "401" || f.code == "404" || f.code == "DeploymentNotFound" {
		return string(object("error", object("code", f.code, "message", f.message)))
	}
	return openAIShape(f)
}

func azurePath(path, query string) *fault {
	values, err := url.ParseQuery(query)
	if err != nil || values.Get("api-version") == "" {
		return &fault{status: 404, code: "404", message: "Resource not found"}
	}
	if !strings.Contains(path, "/"+deployment+"/") {
		return &fault{status: 404, code: "DeploymentNotFound", message: "The API deployment for this resource does not exist. If you created the deployment within the last 5 minutes, please wait a moment and try again."}
	}
	return nil
}

// cut parts a path from its query.
func cut(path string) (before, query string, found bool) { return strings.Cut(path, "?") }

// sameDepth reports whether a path is that of another deployment.
func sameDepth(path, own string) bool {
	return strings.HasPrefix(path, "/openai/deployments/") && strings.HasSuffix(path, "/chat/completions") &&
		strings.Count(path, "/") == strings.Count(own, "/")
}
