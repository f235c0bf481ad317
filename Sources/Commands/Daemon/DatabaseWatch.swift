import Logging
import Postgres
import Schema
import ServiceLifecycle

/// Uses the database now and then where nothing else may, so that a daemon without work says at its start whether it can work, and notices
/// when that changes.
struct DatabaseWatch: Service {
    let pool: ConnectionPool
    let gate: SchemaGate
    /// The rest after a use that succeeded.
    var rest: Duration = .seconds(5)
    let logger: Logger

    func run() async throws {
        await cancelWhenGracefulShutdown {
            var outage = Backoff(base: .milliseconds(250), cap: .seconds(5))
            var generator = SystemRandomNumberGenerator()
            while !Task.isEnding {
                await use()
                if gate.isUsable { outage.reset() }
                await Task.rest(for: gate.isUsable ? rest : outage.next(using: &generator))
            }
        }
    }

    private func use() async {
        do {
            // The pool checks the connection before it lends it.
            try await pool.withConnection { _ in }
        } catch {
            logger.debug("the database was not used", metadata: ["error": "\(error)"])
        }
    }
}
