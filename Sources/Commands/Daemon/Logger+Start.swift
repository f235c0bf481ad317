import Logging
import Postgres

extension Logger {
    /// Writes the first line of a daemon's log: what runs, with which settings. It holds no secret.
    func starting(_ daemon: String, _ options: ConnectionOptions, _ settings: Logger.Metadata) {
        var all: Logger.Metadata = [
            "program.version": "\(Build.version)", "program.commit": "\(Build.commit)", "program.schema": "\(Build.schema)",
        ]
        all["database.host"] = options.host.map { "\($0)" }
        all["database.name"] = options.database.map { "\($0)" }
        all["database.role"] = options.user.map { "\($0)" }
        notice("\(daemon) is starting", metadata: all.merging(settings) { $1 })
    }

    /// The same logger with a name for the pool whose database the lines are about.
    func naming(pool: String) -> Logger {
        var logger = self
        logger[metadataKey: "database.pool"] = "\(pool)"
        return logger
    }
}
