import EndToEndTesting
import Postgres
import PostgresTesting
import Testing

extension EndToEnd {
    /// Keep-alives for systemd's watchdog.
    @Suite struct WatchdogTests {
        @Test func `a worker sends keep-alives while the database does not answer`() async throws {
            let shop = try Shop()
            try await Installation.lend { installation in
                let worker = try await installation.startWorker(for: shop, ["WATCHDOG_USEC": "1500000"])
                try await installation.sql.withTransaction { transaction in
                    try await transaction.execute("LOCK TABLE appstore.inbox_queue")
                    // Statements of the worker wait for the lock for five seconds.
                    let deadline = Deadline(within: .seconds(4))
                    var keepAlives = 0
                    while keepAlives < 5, !deadline.hasPassed {
                        keepAlives += try await worker.systemdMessages(within: .seconds(1)).count { $0 == "WATCHDOG=1" }
                    }
                    #expect(keepAlives >= 5)
                }
                #expect(try await worker.terminate() == .exit(0))
            }
        }
    }
}
