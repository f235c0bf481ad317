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
    ///
    /// - Throws: ``SettingsError`` when the file of a root cannot be used.
    init(_ settings: WorkerSettings, registry: MetricRegistry) throws(SettingsError) {
        metrics = VerificationMetrics(factory: registry)
        processor = Reloadable(try settings.processor(metrics: metrics))
        secrets = Reloadable(settings.outboundSecrets)
        registry.observe { [processor] in processor.current.reader.verifier }
    }

    /// Replaces the parts. A batch in flight ends with the old ones.
    ///
    /// - Throws: ``SettingsError`` when the file of a root cannot be used; then nothing is replaced.
    func apply(_ settings: WorkerSettings) throws(SettingsError) {
        processor.replace(with: try settings.processor(metrics: metrics))
        secrets.replace(with: settings.outboundSecrets)
    }
}
