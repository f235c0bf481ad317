package import Logging

extension Logger {
    /// A logger that discards all messages.
    package static var silent: Logger { Logger(label: "tests") { _ in SwiftLogNoOpLogHandler() } }
}
