import AppStore
import AppStoreVerification
import Interpretation
import Logging
import Outbox
import Postgres
import Prometheus
import ServerAPI
import Systemd

extension WorkerCommand {
    /// Connections for the outbox, which holds one only while a statement runs.
    static let outboxConnections = 2

    /// The service that makes the calls which the ledger requests; counts their results in the registry.
    ///
    /// - Parameters:
    ///   - parts: the secrets that are sent to verifyReceipt, asked for at each attempt.
    ///   - client: asks the App Store Server API.
    ///   - monitor: supervises the loops of the outbox; nil for none.
    static func outbox(
        _ settings: WorkerSettings,
        _ parts: ReloadableWorker,
        client: ServerAPIClient,
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
        let receipts = VerifyReceiptCallHandler(
            addresses: addresses,
            secrets: { parts.secrets.current },
            receiptData: { PostedReceipt.data(inEventBody: $0.body) }
        )
        return OutboxService(
            pool: pool,
            handlers: [receipts] + serverAPIHandlers(client, registry: registry),
            configuration: configuration,
            logger: logger,
            metrics: registry,
            heartbeat: { monitor?.loop() ?? .none }
        )
    }
}
