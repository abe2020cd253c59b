package web

import (
	"compress/gzip"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/podlapse/podlapse/internal/page"
)

// shownTo sends a request with the headers of a browser that opens a page.
func shownTo(t *testing.T, handler http.Handler, path string, headers ...string) *httptest.ResponseRecorder {
	t.Helper()
	request := httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, nil)
	request.Header.Set("Accept", "text/html,application/xhtml+xml,*/*;q=0.8")
	for i := 0; i < len(headers); i += 2 {
		request.Header.Set(headers[i], headers[i+1])
	}
	response := httptest.NewRecorder()
	handler.ServeHTTP(response, request)
	return response
}

var asked = regexp.MustCompile(`"(page/[^"]+)"`)

func TestPageAndItsFiles(t *testing.T) {
	handler := handlerOf((&fake{}).config())
	home := shownTo(t, handler, "/")
	header := home.Header()
	if home.Code != http.StatusOK || header.Get("Content-Type") != "text/html; charset=utf-8" ||
		header.Get("Content-Security-Policy") != page.Policy ||
		// The compression also adds Accept-Encoding to Vary.
		header.Get("Cache-Control") != "no-store" || !slices.Contains(header.Values("Vary"), "Accept") {
		t.Fatalf("%d %v", home.Code, header)
	}
	files := asked.FindAllStringSubmatch(home.Body.String(), -1)
	if len(files) < 5 {
		t.Fatalf("the page requests %v", files)
	}
	for _, file := range files {
		response := shownTo(t, handler, "/"+file[1], "Accept", "*/*")
		if response.Code != http.StatusOK ||
			response.Header().Get("Cache-Control") != "private, max-age=31536000, immutable" ||
			response.Header().Get("X-Content-Type-Options") != "nosniff" || response.Body.Len() == 0 {
			t.Errorf("%s: %d %v", file[1], response.Code, response.Header())
		}
	}
	packed := shownTo(t, handler, "/"+files[len(files)-1][1], "Accept-Encoding", "gzip")
	reader, err := gzip.NewReader(packed.Body)
	if err != nil {
		t.Fatal(err)
	}
	if text, err := io.ReadAll(reader); err != nil || !strings.Contains(string(text), "import ") ||
		packed.Header().Get("Content-Encoding") != "gzip" {
		t.Errorf("%v, %.100s", err, text)
	}
	for _, path := range []string{"/page/0000000000000000/main.js", "/page/x",
		strings.Replace("/"+files[0][1], "icon.svg", "index.html", 1),
		strings.Replace("/"+files[0][1], "icon.svg", "..%2fpage.go", 1)} {
		if response := shownTo(t, handler, path); response.Code != http.StatusNotFound ||
			decode[problem](t, response).Error != "not_found" || response.Header().Get("Cache-Control") != "no-store" {
			t.Errorf("%s: %d %v", path, response.Code, response.Header())
		}
	}
}

func TestPathListForClientsWithoutHTML(t *testing.T) {
	for _, accept := range []string{"", "*/*", "application/json"} {
		response := shownTo(t, handlerOf((&fake{}).config()), "/", "Accept", accept)
		if response.Code != http.StatusOK || !strings.Contains(response.Body.String(), "/api/v1/stream") ||
			response.Header().Get("Content-Type") != "text/plain; charset=utf-8" {
			t.Errorf("%q: %d %s", accept, response.Code, response.Body)
		}
	}
}

// TestPageNeedsAPIPermission checks that only clients with access to the API get the page. All clients get the list of
// paths, which reveals nothing about the node.
func TestPageNeedsAPIPermission(t *testing.T) {
	config := (&fake{}).config()
	config.Access = func(_ context.Context, _, token, path string) (Verdict, error) {
		if token == "reads" && path == "/" {
			return Allowed, nil
		}
		return Denied, nil
	}
	handler := handlerOf(config)
	for token, want := range map[string]int{"": http.StatusUnauthorized, "Bearer reads": http.StatusOK,
		"Bearer other": http.StatusForbidden} {
		if response := shownTo(t, handler, "/", "Authorization", token); response.Code != want {
			t.Errorf("%q: %d, want %d", token, response.Code, want)
		}
		if response := shownTo(t, handler, "/", "Authorization", token, "Accept", "*/*"); response.Code !=
			http.StatusOK {
			t.Errorf("%q: the list of paths got %d", token, response.Code)
		}
	}
}
