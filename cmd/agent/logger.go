package main

import (
	"fmt"
	"io"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
)

// newLogger writes whole messages to out, one a line, without sampling: the agent logs changes of
// state, and none of those may go missing.
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

func logLevelSetting(level *zapcore.Level) setting {
	return setting{
		flag: "log-level", variable: "LOG_LEVEL", value: "debug|info|warn|error", def: "info",
		help: "lowest level to log to standard error",
		set: func(value string) error {
			switch value {
			case "debug", "info", "warn", "error":
				return level.Set(value)
			}
			return fmt.Errorf("invalid level %q: must be debug, info, warn or error", value)
		},
	}
}

func logFormatSetting(format *string) setting {
	return setting{
		flag: "log-format", variable: "LOG_FORMAT", value: "json|console", def: formatJSON,
		help: "format of log messages", set: choice(format, formatJSON, formatConsole),
	}
}
