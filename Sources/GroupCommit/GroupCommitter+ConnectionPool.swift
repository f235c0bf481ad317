package import Logging
package import Metrics
package import Postgres
import SQL

extension GroupCommitter {
    /// Creates a group committer that stores bodies with `appstore.receive` on connections of a pool.
    ///
    /// The pool needs a connection for each batch in flight and one for the probe.
    package convenience init(
        pool: ConnectionPool,
        configuration: Configuration = Configuration(),
        logger: Logger,
        metrics: any MetricsFactory = MetricsSystem.factory
    ) {
        self.init(configuration: configuration, logger: logger, metrics: metrics) { bodies, source in
            let statement = Statement.receive(bodies: bodies, source: source)
            let rows = try await pool.withTransaction { transaction in
                if bodies.isEmpty, pool.slots.unanswered > 0 {
                    // The probe would wait for the same standby, and its backend stays when the client has gone: soon there would be too many.
                    guard try await transaction.query(.findUnansweredCommits()).isEmpty else { throw GroupCommitError(.timedOut) }
                }
                return try await transaction.query(statement)
            }
            return try rows.map { row in try row.decode(0) }
        }
    }
}
