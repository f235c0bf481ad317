import AppStoreVerification
import Interpretation
import Revocation
import Systemd
import Worker

extension WorkerServices {
    /// The service that asks whether the certificates that sign are revoked, and makes the parts reject what revoked certificates signed.
    func revocation() -> RevocationService {
        RevocationService(
            pool: sharedPool,
            asks: settings.asksResponders,
            hosts: { [parts] in parts.responderHosts.current },
            used: { [parts] in parts.processor.current.reader.verifier.takeUsedCertificates() },
            apply: { [parts] in parts.apply($0) },
            logger: logger,
            heartbeat: monitor.loop
        )
    }
}
