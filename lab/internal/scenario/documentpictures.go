package scenario

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/draw"
	"image/png"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"
)

// picturesVariable is the name of an environment variable. The variable contains the path of the directory with the
// documents' pictures. The scenarios "page", "node-startup" and "command-line" replace the pictures in this directory.
// If the variable is empty, the scenarios replace no pictures.
const picturesVariable = "PODLAPSE_PICTURES"

// The names of the documents' pictures.
const (
	pagePicture = "page.png"
	topPicture  = "top.svg"
)

// savePagePicture replaces the picture that has the given name. The new picture uses a palette of colors, so its file
// has a third of the size of the screenshot.
func savePagePicture(screenshot, name string) error {
	dir := os.Getenv(picturesVariable)
	if dir == "" {
		return nil
	}
	file, err := os.Open(screenshot)
	if err != nil {
		return fmt.Errorf("read the screenshot: %w", err)
	}
	shot, err := png.Decode(file)
	if err = errors.Join(err, file.Close()); err != nil {
		return fmt.Errorf("read the screenshot: %w", err)
	}
	small := image.NewPaletted(shot.Bounds(), commonColors(shot))
	draw.Draw(small, small.Bounds(), shot, shot.Bounds().Min, draw.Src)
	var out bytes.Buffer
	encoder := png.Encoder{CompressionLevel: png.BestCompression}
	if err := encoder.Encode(&out, small); err != nil {
		return fmt.Errorf("write the picture of the page: %w", err)
	}
	return savePicture(dir, name, out.Bytes())
}

// commonColors returns the most frequent colors of an image. The result has at most 256 colors, because a palette
// cannot have more.
func commonColors(shot image.Image) color.Palette {
	const paletteSize = 256
	counts := map[color.RGBA]int{}
	bounds := shot.Bounds()
	for y := bounds.Min.Y; y < bounds.Max.Y; y++ {
		for x := bounds.Min.X; x < bounds.Max.X; x++ {
			counts[color.RGBAModel.Convert(shot.At(x, y)).(color.RGBA)]++
		}
	}
	colors := make([]color.RGBA, 0, len(counts))
	for c := range counts {
		colors = append(colors, c)
	}
	slices.SortFunc(colors, func(a, b color.RGBA) int { return counts[b] - counts[a] })
	var palette color.Palette
	for _, c := range colors[:min(len(colors), paletteSize)] {
		palette = append(palette, c)
	}
	return palette
}

// saveTopPicture draws a terminal with the command and its output, and replaces the stored picture.
func saveTopPicture(command, output string) error {
	dir := os.Getenv(picturesVariable)
	if dir == "" {
		return nil
	}
	picture, err := terminalPicture("$ " + command + "\n" + output)
	if err != nil {
		return err
	}
	return savePicture(dir, topPicture, picture)
}

// terminalPicture returns an SVG image of a terminal that shows the text.
func terminalPicture(text string) ([]byte, error) {
	const cell, lineHeight, margin = 8.4, 20, 16
	lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
	columns := 0
	for _, line := range lines {
		columns = max(columns, utf8.RuneCountInString(line))
	}
	width, height := int(float64(columns)*cell)+2*margin, len(lines)*lineHeight+2*margin
	var out bytes.Buffer
	fmt.Fprintf(&out, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %d %d">`+"\n"+
		`<rect width="100%%" height="100%%" rx="8" fill="#10141a"/>`+"\n"+
		`<g font-family="ui-monospace, Menlo, Consolas, monospace" font-size="14" fill="#e6e9ef">`+"\n",
		width, height, width, height)
	for i, line := range lines {
		fmt.Fprintf(&out, `<text x="%d" y="%d" textLength="%.1f" xml:space="preserve">`, margin,
			margin+i*lineHeight+lineHeight*3/4, float64(utf8.RuneCountInString(line))*cell)
		if err := xml.EscapeText(&out, []byte(line)); err != nil {
			return nil, fmt.Errorf("draw the picture of the terminal: %w", err)
		}
		out.WriteString("</text>\n")
	}
	out.WriteString("</g>\n</svg>\n")
	return out.Bytes(), nil
}

func savePicture(dir, name string, data []byte) error {
	if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
		return fmt.Errorf("save a picture for the documents: %w", err)
	}
	return nil
}
