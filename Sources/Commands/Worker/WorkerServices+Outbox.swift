import AppStore
import Consumption
import Inquiries
import Outbox
import ServerAPI
import Systemd

extension WorkerServices {
    /// The service that makes the calls which the ledger requests; counts their results in the registry. Without a key, it leases none that
    /// asks the App Store Server API.
    func outbox() -> OutboxService {
        var configuration = OutboxService.Configuration()
        configuration.exchange.extraRootPaths = settings.outboundRoots
        var addresses = VerifyReceiptAddresses()
        addresses.production = settings.verifyReceiptURL
        addresses.sandbox = settings.verifyReceiptSandboxURL
        let receipts = VerifyReceiptCallHandler(
            addresses: addresses,
            secrets: { [parts] in parts.secrets.current },
            receiptData: { PostedReceipt.data(inEventBody: $0.body) }
        )
        let questions: [any CallHandler] =
            [ServerAPICallHandler.consumption(client, metrics: registry)] + ServerAPICallHandler.inquiries(client)
        return OutboxService(
            pool: sharedPool,
            handlers: [receipts] + questions,
            configuration: configuration,
            logger: logger,
            metrics: registry,
            heartbeat: monitor.loop
        )
    }
}
