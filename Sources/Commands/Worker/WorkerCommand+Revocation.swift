import AppStoreVerification
import Interpretation
import Logging
import Postgres
import Revocation
import Systemd
import Worker

extension WorkerCommand {
    /// The service that asks whether the certificates that sign are revoked, and makes the parts refuse what those signed that are.
    ///
    /// - Parameter monitor: supervises the loop of the service; nil for none.
    static func revocation(
        _ settings: WorkerSettings,
        _ parts: ReloadableWorker,
        pool: ConnectionPool,
        logger: Logger,
        monitor: LoopMonitor? = nil
    ) -> RevocationService {
        var configuration = RevocationService.Configuration()
        configuration.asks = settings.asksResponders
        return RevocationService(
            pool: pool,
            configuration: configuration,
            hosts: { parts.responderHosts.current },
            used: { parts.processor.current.reader.verifier.takeUsedCertificates() },
            apply: { parts.apply($0) },
            logger: logger,
            heartbeat: { monitor?.loop() ?? .none }
        )
    }
}
