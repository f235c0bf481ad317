import AppStoreVerification
import Interpretation
import Prometheus
import Worker

/// The parts of a worker that a reload of the settings replaces.
struct ReloadableWorker: Sendable {
    /// The settings that take effect without a restart.
    static let settings: Set = [
        Settings.apps.name, Settings.environments.name, Settings.extraRoots.name, Settings.sharedSecrets.name, Settings.verifyReceipt.name,
    ]

    /// Processes events of the configured apps.
    let processor: Reloadable<EventProcessor>
    /// The secrets that are sent to verifyReceipt.
    let secrets: Reloadable<SharedSecrets>
    private let metrics: VerificationMetrics

    /// Exposes the metrics of verification in the registry.
    init(_ settings: VerificationSettings, registry: MetricRegistry) {
        metrics = VerificationMetrics(factory: registry)
        processor = Reloadable(EventProcessor(settings.eventReader, metrics: metrics))
        secrets = Reloadable(settings.outboundSecrets)
        registry.observe { [processor] in processor.current.reader.verifier }
    }

    /// Replaces the parts. A batch in flight ends with the old ones.
    func apply(_ settings: VerificationSettings) {
        processor.replace(with: EventProcessor(settings.eventReader, metrics: metrics))
        secrets.replace(with: settings.outboundSecrets)
    }
}
