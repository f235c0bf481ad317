package import Logging

extension Logger {
    /// A logger that says nothing.
    package static var silent: Logger { Logger(label: "tests") { _ in SwiftLogNoOpLogHandler() } }
}
