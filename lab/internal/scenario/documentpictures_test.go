package scenario

import (
	"encoding/xml"
	"image"
	"image/color"
	"image/png"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestTerminalPictureEscapesText(t *testing.T) {
	picture, err := terminalPicture("$ kubectl podlapse top\nshop/<web>  3.0 s & more\n")
	if err != nil {
		t.Fatal(err)
	}
	var svg struct {
		Lines []string `xml:"g>text"`
	}
	if err := xml.Unmarshal(picture, &svg); err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(svg.Lines, "\n"); got != "$ kubectl podlapse top\nshop/<web>  3.0 s & more" {
		t.Errorf("the picture contains %q", got)
	}
}

func TestPagePictureKeepsFrequentColors(t *testing.T) {
	dir := t.TempDir()
	t.Setenv(picturesVariable, dir)
	shot := image.NewRGBA(image.Rect(0, 0, 40, 20))
	for i := range 40 * 20 {
		shot.Set(i%40, i/40, color.RGBA{R: uint8(i), G: uint8(i / 256), A: 255}) // 800 colors
	}
	white := color.RGBA{R: 255, G: 255, B: 255, A: 255}
	shot.Set(3, 0, white)
	shot.Set(4, 0, white)
	path := filepath.Join(dir, "shot.png")
	write(t, path, shot)
	if err := savePagePicture(path, pagePicture); err != nil {
		t.Fatal(err)
	}
	file, err := os.Open(filepath.Join(dir, pagePicture))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	saved, err := png.Decode(file)
	if err != nil {
		t.Fatal(err)
	}
	if got := color.RGBAModel.Convert(saved.At(3, 0)); got != white || saved.Bounds() != shot.Bounds() {
		t.Errorf("the most frequent color became %v, and the size %v", got, saved.Bounds())
	}
}

func TestPicturesAreNotSavedByDefault(t *testing.T) {
	t.Setenv(picturesVariable, "")
	if err := saveTopPicture("kubectl podlapse top", "POD"); err != nil {
		t.Error(err)
	}
	if err := savePagePicture(filepath.Join(t.TempDir(), "missing.png"), pagePicture); err != nil {
		t.Error(err)
	}
}

func write(t *testing.T, path string, shot image.Image) {
	t.Helper()
	file, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if err := png.Encode(file, shot); err != nil {
		t.Fatal(err)
	}
}
