import AppStore
import AppStoreVerification
import Interpretation
import Logging
import Outbox
import Postgres
import Prometheus
import Systemd

extension WorkerCommand {
    /// Connections for the outbox, which holds one only while a statement runs.
    static let outboxConnections = 2

    /// The service that makes the calls which the ledger requests; counts their results in the registry.
    ///
    /// - Parameter monitor: supervises the loops of the outbox; nil for none.
    static func outbox(
        _ settings: WorkerSettings,
        pool: ConnectionPool,
        registry: MetricRegistry,
        logger: Logger,
        monitor: LoopMonitor? = nil
    ) -> OutboxService {
        var configuration = OutboxService.Configuration()
        configuration.exchange.extraRootPaths = settings.outboundRoots
        var addresses = VerifyReceiptAddresses()
        addresses.production = settings.verifyReceiptURL
        addresses.sandbox = settings.verifyReceiptSandboxURL
        // Without the secret of an app this worker makes no calls for it and leaves them to other workers.
        let secrets = settings.verifyReceipt == .apple ? settings.sharedSecrets : SharedSecrets()
        let handler = VerifyReceiptCallHandler(
            bundleIDs: Set(secrets.counts.keys),
            addresses: addresses,
            secrets: { secrets.secrets(of: $0) },
            receiptData: { PostedReceipt.data(inEventBody: $0.body) }
        )
        return OutboxService(
            pool: pool,
            handlers: [handler],
            configuration: configuration,
            logger: logger,
            metrics: registry,
            heartbeat: {
                let loop = monitor?.loop()
                return OutboxService.Heartbeat(beat: { loop?.beat() }, finish: { loop?.finish() })
            }
        )
    }
}
