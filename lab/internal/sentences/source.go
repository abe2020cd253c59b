package sentences

import (
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"strconv"
	"strings"
)

// goSource contains the sentences of the parsed Go files.
type goSource struct {
	files    *token.FileSet
	messages []Sentence
	comments []Sentence
	helps    []helpText
	// helpParameters contains the functions that have a parameter "help". The argument for this parameter is a help
	// text. The key is the qualified name of the function. The value is the position of the parameter.
	helpParameters map[string]int
}

func newGoSource() *goSource {
	return &goSource{files: token.NewFileSet(), helpParameters: map[string]int{"prometheus.NewDesc": 1}}
}

// helpText is a candidate for a help text. An argument of a call is a help text only if the function's parameter at
// this position has the name "help".
type helpText struct {
	Sentence
	function string // package and name of the called function; empty for the field Help of a flag or a metric
	argument int
}

// parse adds the sentences of one file. parse ignores generated files.
func (g *goSource) parse(name string, text []byte) error {
	file, err := parser.ParseFile(g.files, name, text, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return err
	}
	if ast.IsGenerated(file) {
		return nil
	}
	lines := strings.Split(string(text), "\n")
	for _, group := range file.Comments {
		code := g.commented(lines, group)
		for _, s := range splitAll(name, g.paragraphs(group)) {
			s.Code = code
			g.comments = append(g.comments, s)
		}
	}
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncDecl:
			g.addHelpParameter(qualified(file, n.Name), n.Type)
		case *ast.AssignStmt: // a function that is assigned to a variable
			if f, ok := n.Rhs[0].(*ast.FuncLit); ok {
				g.addHelpParameter(qualified(file, n.Lhs[0]), f.Type)
			}
		case *ast.KeyValueExpr:
			if key, ok := n.Key.(*ast.Ident); ok && key.Name == "Help" {
				g.addHelp(n.Value, "", 0)
			}
		case *ast.CallExpr:
			g.addCall(n, qualified(file, n.Fun))
		}
		return true
	})
	return nil
}

// groups returns the messages, the help texts and the comments of all files.
func (g *goSource) groups() (messages, help, comments Group) {
	help.Name = Help
	for _, h := range g.helps {
		position, found := g.helpParameters[h.function]
		if h.function == "" || found && position == h.argument {
			help.Sentences = append(help.Sentences, h.Sentence)
		}
	}
	return Group{Messages, g.messages}, help, Group{Comments, g.comments}
}

func (g *goSource) addHelpParameter(function string, signature *ast.FuncType) {
	position := 0
	for _, field := range signature.Params.List {
		for _, name := range field.Names {
			if name.Name == "help" {
				g.helpParameters[function] = position
			}
			position++
		}
	}
}

func (g *goSource) addHelp(value ast.Expr, function string, argument int) {
	if s, ok := g.sentence(value); ok {
		g.helps = append(g.helps, helpText{s, function, argument})
	}
}

// addCall adds the message of a call that creates an error or a log entry. For each other call, addCall adds all
// arguments, because each argument can be a help text.
func (g *goSource) addCall(call *ast.CallExpr, function string) {
	if isMessage(call.Fun, function) && len(call.Args) > 0 {
		if s, ok := g.sentence(call.Args[0]); ok {
			g.messages = append(g.messages, s)
		}
		return
	}
	if function == "" {
		return
	}
	for i, argument := range call.Args {
		g.addHelp(argument, function, i)
	}
}

// isMessage reports whether the function is errors.New, fmt.Errorf or a method of a zap logger. isMessage recognizes
// the methods of a logger only by their names. So isMessage also returns true for other methods with the same names,
// such as t.Fatal.
func isMessage(expression ast.Expr, function string) bool {
	if function == "errors.New" || function == "fmt.Errorf" {
		return true
	}
	method, ok := expression.(*ast.SelectorExpr)
	return ok && slices.Contains([]string{"Debug", "Info", "Warn", "Error", "DPanic", "Panic", "Fatal"},
		method.Sel.Name)
}

// qualified returns the name of a function with its package, such as fmt.Errorf. If the expression is not a name,
// qualified returns an empty string.
func qualified(file *ast.File, e ast.Expr) string {
	switch e := e.(type) {
	case *ast.Ident:
		return file.Name.Name + "." + e.Name
	case *ast.SelectorExpr:
		if x, ok := e.X.(*ast.Ident); ok {
			return x.Name + "." + e.Sel.Name
		}
	}
	return ""
}

// sentence returns the text of an expression, with ↵ instead of each line break. The second result is false if the
// expression contains no literal, or if the text has fewer than two words.
func (g *goSource) sentence(e ast.Expr) (Sentence, bool) {
	text, literal := textOf(e)
	words := strings.Fields(strings.ReplaceAll(text, "\n", " ↵ "))
	if !literal || len(words) < 2 {
		return Sentence{}, false
	}
	position := g.files.Position(e.Pos())
	return Sentence{File: position.Filename, Line: position.Line, Text: strings.Join(words, " ")}, true
}

// textOf returns the text of an expression that concatenates strings. Each part that is not a literal becomes an
// ellipsis. If the expression contains no literal, the second result is false.
func textOf(e ast.Expr) (text string, literal bool) {
	switch e := e.(type) {
	case *ast.BasicLit:
		if text, err := strconv.Unquote(e.Value); err == nil && e.Kind == token.STRING {
			return text, true
		}
	case *ast.BinaryExpr:
		if e.Op == token.ADD {
			left, leftLiteral := textOf(e.X)
			right, rightLiteral := textOf(e.Y)
			return left + right, leftLiteral || rightLiteral
		}
	}
	return "…", false
}

// commented returns the code that a comment describes. If there is code before the comment on the same line, commented
// returns this code. If there is no code before the comment, commented returns the line below the comment.
func (g *goSource) commented(lines []string, group *ast.CommentGroup) string {
	begin, end := g.files.Position(group.Pos()), g.files.Position(group.End())
	if before := strings.TrimSpace(lines[begin.Line-1][:begin.Column-1]); before != "" {
		return before
	}
	if end.Line < len(lines) {
		return strings.TrimSpace(lines[end.Line])
	}
	return ""
}

// paragraphs returns the paragraphs of a comment, without directives and indented code.
func (g *goSource) paragraphs(group *ast.CommentGroup) []paragraph {
	var all []paragraph
	var current paragraph
	end := func() {
		all = append(all, current)
		current = paragraph{}
	}
	for _, comment := range group.List {
		number := g.files.Position(comment.Pos()).Line
		text := strings.TrimSuffix(strings.TrimPrefix(comment.Text, "/*"), "*/")
		for part := range strings.Lines(text) {
			part, marked := strings.CutPrefix(part, "//")
			bare := strings.TrimSpace(part)
			isDirective := marked && bare != "" && part[0] != ' ' && part[0] != '\t'
			switch {
			case bare == "" || isDirective || strings.HasPrefix(part, "\t") || strings.HasPrefix(part, " \t"):
				end()
			case item.MatchString(bare):
				end()
				bare, current.item = item.ReplaceAllString(bare, ""), true
				fallthrough
			default:
				current.lines = append(current.lines, line{number, bare})
			}
			number++
		}
	}
	end()
	return all
}
