package terminal

import (
	"fmt"
	"io"
	"os"
	"strings"

	"golang.org/x/term"
)

// Control sequences for a screen.
const (
	enterScreen = "\x1b[?1049h\x1b[?25l\x1b[?7l" // selects the alternate screen, hides the cursor, and stops wrapping
	leaveScreen = "\x1b[0m\x1b[?7h\x1b[?25h\x1b[?1049l"
	home        = "\x1b[H"
	clearLine   = "\x1b[K"
	clearBelow  = "\x1b[J"
)

// Screen draws on the whole terminal. Close restores the previous content of the terminal. A Screen is not safe for
// concurrent use.
type Screen struct {
	out      *os.File
	in       *os.File
	inBefore *term.State // earlier state of the input terminal; nil if the input is not a terminal
	drawn    string
}

// Open takes control of the terminal that the file "out" refers to. If the file "in" is also a terminal, the program
// receives each typed key immediately, even Ctrl-C. The terminal then does not show the typed keys.
func Open(in, out *os.File) (*Screen, error) {
	s := &Screen{out: out, in: in}
	if term.IsTerminal(int(in.Fd())) {
		before, err := term.MakeRaw(int(in.Fd()))
		if err != nil {
			return nil, fmt.Errorf("set up the terminal: %w", err)
		}
		s.inBefore = before
	}
	if _, err := io.WriteString(out, enterScreen); err != nil {
		_ = s.Close()
		return nil, fmt.Errorf("write to the terminal: %w", err)
	}
	return s, nil
}

// Size returns the current number of columns and lines.
func (s *Screen) Size() (columns, lines int) {
	columns, lines, err := term.GetSize(int(s.out.Fd()))
	if err != nil || columns < 1 || lines < 1 {
		return 80, 24
	}
	return columns, lines
}

// Draw shows the lines, starting at the top of the screen. The number of lines must not exceed the height of the
// screen. If the screen already shows the given lines, Draw writes nothing.
func (s *Screen) Draw(lines []string) error {
	columns, height := s.Size()
	picture := home + strings.Join(lines, clearLine+"\r\n") + clearLine + clearBelow
	now := fmt.Sprint(columns, height, picture) // contains the size, so Draw writes again after the size changes
	if now == s.drawn {
		return nil
	}
	s.drawn = now
	if _, err := io.WriteString(s.out, picture); err != nil {
		return fmt.Errorf("write to the terminal: %w", err)
	}
	return nil
}

// Close restores the terminal.
func (s *Screen) Close() error {
	_, err := io.WriteString(s.out, leaveScreen)
	if s.inBefore != nil {
		if restored := term.Restore(int(s.in.Fd()), s.inBefore); err == nil {
			err = restored
		}
	}
	if err != nil {
		return fmt.Errorf("restore the terminal: %w", err)
	}
	return nil
}

// Remember stores the state of the terminal before a Screen changes the terminal. The returned function restores the
// stored state. The program calls the returned function if it stops without a call to Close.
func Remember(in, out *os.File) (giveBack func()) {
	before, err := term.GetState(int(in.Fd()))
	if err != nil {
		return func() {} // the input is not a terminal
	}
	return func() {
		now, err := term.GetState(int(in.Fd()))
		if err != nil || *now == *before {
			return
		}
		// Restore the state first, because a write to the terminal might block. The program cannot report errors here.
		_ = term.Restore(int(in.Fd()), before)
		if term.IsTerminal(int(out.Fd())) {
			_, _ = io.WriteString(out, leaveScreen)
		}
	}
}

// Width returns the number of columns of the terminal that a file refers to. If the file is not a terminal, or if the
// width is unknown, isTerminal is false.
func Width(file *os.File) (columns int, isTerminal bool) {
	if file == nil || !term.IsTerminal(int(file.Fd())) {
		return 0, false
	}
	columns, _, err := term.GetSize(int(file.Fd()))
	return columns, err == nil && columns > 0
}
