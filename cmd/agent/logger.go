package main

import (
	"fmt"
	"io"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"github.com/podlapse/podlapse/internal/flags"
)

// newLogger returns a logger that writes each message to out as one line. The logger does not use zap's sampling, which
// drops repeated messages. The agent logs only changes of state, and every change matters.
func newLogger(level zapcore.Level, format string, out io.Writer) *zap.Logger {
	encoding := zap.NewProductionEncoderConfig()
	encoding.TimeKey = "time"
	encoding.MessageKey = "message"
	encoding.EncodeTime = zapcore.RFC3339NanoTimeEncoder
	encoding.EncodeDuration = zapcore.StringDurationEncoder
	encoder := zapcore.NewJSONEncoder
	if format == formatConsole {
		encoding.EncodeTime = zapcore.TimeEncoderOfLayout("15:04:05.000")
		encoding.EncodeLevel = zapcore.CapitalLevelEncoder
		encoder = zapcore.NewConsoleEncoder
	}
	return zap.New(zapcore.NewCore(encoder(encoding), zapcore.Lock(zapcore.AddSync(out)), level))
}

func logLevelFlag(level *zapcore.Level) flags.Flag {
	return flags.Flag{
		Name: "log-level", Variable: "LOG_LEVEL", Value: "debug|info|warn|error", Default: "info",
		Help: "minimum level of the log messages on standard error",
		Set: func(value string) error {
			switch value {
			case "debug", "info", "warn", "error":
				return level.Set(value)
			}
			return fmt.Errorf("invalid level %q: must be debug, info, warn or error", value)
		},
	}
}

func logFormatFlag(format *string) flags.Flag {
	return flags.Flag{
		Name: "log-format", Variable: "LOG_FORMAT", Value: "json|console", Default: formatJSON,
		Help: "format of log messages", Set: flags.Choice(format, formatJSON, formatConsole),
	}
}
