import NIOHTTP1
package import Prometheus

/// Serves the metrics of the process to Prometheus.
package struct MetricsEndpoint: Sendable {
    private let registry: MetricRegistry

    package init(registry: MetricRegistry) {
        self.registry = registry
    }

    /// Adds `/metrics`.
    package func add(to routes: inout Routes) {
        routes.on(.GET, "/metrics") { [registry] _ in Response(text: registry.render(), mediaType: Exposition.mediaType) }
    }
}
