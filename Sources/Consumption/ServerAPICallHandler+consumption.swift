package import Metrics
package import ServerAPI

extension ServerAPICallHandler {
    /// The kind of calls that answer Apple's consumption requests.
    package static let consumptionKind = "consumption"

    /// Sends the answers to Apple's consumption requests that were decided.
    package static func consumption(_ client: ServerAPIClient, metrics: any MetricsFactory) -> ServerAPICallHandler {
        let delay = Timer(label: "appstore_inbox_consumption_answered_seconds", factory: metrics)
        return ServerAPICallHandler([consumptionKind], client: client) { call in
            ConsumptionAttempt(call) { delay.record(duration: $0) }
        }
    }
}
