package import Logging

extension Logger {
    /// The logger for a service group, which at the level of debug writes each service with all its members.
    package var forServiceGroup: Logger {
        var logger = self
        logger.logLevel = max(logLevel, .info)
        return logger
    }
}
