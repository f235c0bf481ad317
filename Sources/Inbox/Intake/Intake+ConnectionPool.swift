package import Logging
package import Metrics
package import Postgres
import SQL

extension Intake {
    /// Creates an intake that stores bodies with `appstore.receive` on connections of a pool.
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
            let rows = try await pool.withConnection { connection in try await connection.query(statement) }
            return try rows.map { row in try row.decode("event_id") }
        }
    }
}
