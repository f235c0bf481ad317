import AppStoreVerification
import Handlers
import Logging
import Outbox
import Postgres
import Prometheus
import Systemd

extension WorkerCommand {
    /// Connections for the outbox, which holds one only for the length of a statement.
    static let outboxConnections = 2

    /// Makes the calls that the books ask for; counts in the registry what comes of them.
    ///
    /// - Parameter watchdog: waits for whatever the outbox does; nil when nobody watches.
    static func outbox(
        _ settings: WorkerSettings,
        pool: ConnectionPool,
        registry: MetricRegistry,
        logger: Logger,
        watchdog: Watchdog? = nil
    ) -> OutboxService {
        var configuration = OutboxService.Configuration()
        configuration.exchange.extraRootPaths = settings.outboundRoots
        var addresses = VerifyReceiptAddresses()
        addresses.production = settings.verifyReceiptURL
        addresses.sandbox = settings.verifyReceiptSandboxURL
        // Calls of another mode, or of another worker's, are left to those who have a secret.
        let secrets = settings.verifyReceipt == .apple ? settings.sharedSecrets : SharedSecrets()
        let maker = VerifyReceiptMaker(
            bundleIDs: Set(secrets.counts.keys),
            addresses: addresses,
            secrets: { secrets.secrets(of: $0) },
            receiptData: { PostedReceipt.data(inEventBody: $0.body) }
        )
        return OutboxService(
            pool: pool,
            makers: [maker],
            configuration: configuration,
            logger: logger,
            metrics: registry,
            heartbeat: {
                let loop = watchdog?.loop()
                return OutboxService.Heartbeat(beat: { loop?.beat() }, finish: { loop?.finish() })
            }
        )
    }
}
