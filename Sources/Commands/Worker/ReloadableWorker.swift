import AppStoreVerification
import Interpretation
import Prometheus
import Revocation
import ServerAPI
import Webhooks
import Worker

/// The parts of a worker that a reload of the settings replaces.
struct ReloadableWorker: Sendable {
    /// The settings that take effect without a restart.
    static let settings: Set = [
        Settings.apps.name, Settings.environments.name, Settings.extraRoots.name, Settings.sharedSecrets.name, Settings.verifyReceipt.name,
        Settings.webhookSecret.name, Settings.webhookHeadersDirectory.name, Settings.apiKeysDirectory.name, Settings.apiIssuers.name,
    ]

    /// Processes events of the configured apps.
    let processor: Reloadable<EventProcessor>
    /// The secrets that are sent to verifyReceipt.
    let secrets: Reloadable<SharedSecrets>
    /// The keys that sign requests to the App Store Server API.
    let apiKeys: Reloadable<APIKeys>
    /// What webhooks are signed with; nil delivers none.
    let webhookMasters: Reloadable<WebhookMasters?>
    let webhookHeaders: Reloadable<WebhookHeaders>
    /// Which OCSP responders may be asked.
    let responderHosts: Reloadable<ResponderHosts>
    private let metrics: VerificationMetrics

    /// Exposes the metrics of verification in the registry.
    init(_ settings: WorkerSettings, registry: MetricRegistry) {
        metrics = VerificationMetrics(factory: registry)
        processor = Reloadable(EventProcessor(settings.verification.eventReader, metrics: metrics))
        secrets = Reloadable(settings.verification.outboundSecrets)
        apiKeys = Reloadable(settings.serverAPI.keys)
        webhookMasters = Reloadable(settings.webhooks.masters)
        webhookHeaders = Reloadable(settings.webhooks.headers)
        responderHosts = Reloadable(settings.verification.responderHosts)
        registry.observe { [processor] in processor.current.reader.verifier }
    }

    /// Replaces the parts. A batch in flight ends with the old ones.
    func apply(_ settings: WorkerSettings) {
        processor.update { old in
            EventProcessor(settings.verification.eventReader.refusing(old.reader.verifier.policy.revocations), metrics: metrics)
        }
        secrets.replace(with: settings.verification.outboundSecrets)
        apiKeys.replace(with: settings.serverAPI.keys)
        webhookMasters.replace(with: settings.webhooks.masters)
        webhookHeaders.replace(with: settings.webhooks.headers)
        responderHosts.replace(with: settings.verification.responderHosts)
    }

    /// Rejects from now on what revoked certificates signed. A batch in flight ends as it began.
    func apply(_ revocations: Revocations) {
        processor.update { old in
            guard old.reader.verifier.policy.revocations != revocations else { return old }
            return EventProcessor(old.reader.refusing(revocations), metrics: metrics)
        }
    }
}
