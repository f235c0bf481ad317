import AppStoreVerification
import Handlers
import Logging
import Outbox
import Postgres
import Prometheus

extension WorkerCommand {
    /// Connections for the outbox: its loops hold one only for the length of a statement.
    static let outboxConnections = 2

    /// Makes the calls that the books ask for; counts in the registry what comes of them.
    static func outbox(_ settings: WorkerSettings, pool: ConnectionPool, registry: MetricRegistry, logger: Logger) -> OutboxService {
        var configuration = OutboxService.Configuration()
        configuration.exchange.extraRootPaths = settings.outboundRoots
        var addresses = VerifyReceiptAddresses()
        addresses.production = settings.verifyReceiptURL
        addresses.sandbox = settings.verifyReceiptSandboxURL
        // Calls of another mode, or of another worker's, wait for those who have a secret.
        let secrets = settings.verifyReceipt == .apple ? settings.sharedSecrets : SharedSecrets()
        let maker = VerifyReceiptMaker(
            addresses: addresses,
            secrets: { secrets.secrets(of: $0) },
            receiptData: { PostedReceipt.data(inEventBody: $0.body) }
        )
        return OutboxService(pool: pool, makers: [maker], configuration: configuration, logger: logger, metrics: registry)
    }
}
