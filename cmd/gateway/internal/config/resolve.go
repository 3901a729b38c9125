package config

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"strconv"
	"strings"
)

// flagRoute is the name of the route that --summarizer-url and
// --summarizer-model make.
const flagRoute = "summarizer"

// resolve fetches secrets from where they are and settles on the routes.
func (l *loader) resolve() {
	l.secretFile(pathAdminToken, pathAdminTokenFile, l.files.adminToken, &l.config.AdminToken)
	l.secretFile(pathTenantSecret, pathTenantSecretFile, l.files.tenantSecret, &l.config.TenantSecret)
	l.secretFile(pathRedisURL, pathRedisURLFile, l.files.redisURL, &l.config.RedisURL)
	l.secretFile(pathStoreKeys, pathStoreKeysFile, l.files.storeKeys, &l.config.StoreKeys)
	l.config.Summarizer.Routes = l.files.routes
	if l.files.summarizerURL != "" || l.files.summarizerModel != "" {
		l.config.Summarizer.Routes = []Route{{Name: flagRoute, URL: l.files.summarizerURL, Model: l.files.summarizerModel}}
		// They stand for the list, whatever the file says.
		maps.DeleteFunc(l.sources, func(key string, _ given) bool { return strings.HasPrefix(key, pathRoutes) })
		l.sources[pathRoutes+"[0].url"] = l.sources[flagRouteURL]
	}
	for i := range l.config.Summarizer.Routes {
		l.routeKey(fmt.Sprintf("%s[%d]", pathRoutes, i), &l.config.Summarizer.Routes[i])
	}
}

// secretFile takes a secret from a file, unless a stronger source gave it as a
// value. Both from one source contradict each other.
func (l *loader) secretFile(path, filePath, name string, into *Secret) {
	if name == "" {
		return
	}
	value, byFile := l.sources[path], l.sources[filePath]
	switch {
	case *into != "" && value.rank == byFile.rank:
		l.add(filePath, "it together with "+path, "one of the two")
		return
	case *into != "" && value.rank > byFile.rank:
		return
	}
	content, problem := l.secretContent(name)
	if problem != "" {
		l.add(filePath, strconv.Quote(name), problem)
		return
	}
	*into = content
	l.sources[path] = byFile // what is wrong with the value is looked for there
}

// secretContent is a file's content without the line break that editors leave.
func (l *loader) secretContent(name string) (content Secret, problem string) {
	raw, err := l.read(name)
	if err != nil {
		return "", "a file that can be read: " + cause(err)
	}
	raw = bytes.TrimRight(raw, "\r\n")
	if len(raw) == 0 {
		return "", "a file that holds the secret; it is empty"
	}
	return Secret(raw), ""
}

// routeKey fetches a route's own credential.
func (l *loader) routeKey(path string, r *Route) {
	bad := func(field, got, want string) { l.add(path+"."+field, got, want) }
	switch {
	case r.APIKeyEnv != "" && r.APIKeyFile != "":
		bad("api_key_env", "it together with api_key_file", "one of the two")
	case r.APIKeyEnv != "":
		r.Key = Secret(l.lookup(r.APIKeyEnv))
		if r.Key == "" {
			bad("api_key_env", strconv.Quote(r.APIKeyEnv), "the name of an environment variable that is set")
		}
	case r.APIKeyFile != "":
		key, problem := l.secretContent(r.APIKeyFile)
		if problem != "" {
			bad("api_key_file", strconv.Quote(r.APIKeyFile), problem)
		}
		r.Key = key
	}
}

func (l *loader) lookup(name string) string {
	for _, pair := range l.Environ {
		if text, ok := strings.CutPrefix(pair, name+"="); ok {
			return text
		}
	}
	return ""
}

// cause is why a file could not be read, without its name: the problem names it.
func cause(err error) string {
	var path *fs.PathError
	if errors.As(err, &path) {
		return path.Err.Error()
	}
	return err.Error()
}
