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
            let statement = Statement(.receiveBodies, ["bodies": bodies, "source": source])
            // In a transaction of its own, whose COMMIT no timeout cancels: a cancel would end the wait for a synchronous standby, and the rows
            // would be visible although no standby has them.
            let rows = try await pool.withTransaction { transaction in try await transaction.query(statement) }
            return try rows.map { row in try row.decode("event_id") }
        }
    }
}
