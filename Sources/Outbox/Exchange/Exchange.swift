/// Sends one request and waits for its answer until a timeout. Failures are part of the outcome.
package struct Exchange: Sendable {
    private let perform: @Sendable (OutboundRequest, Duration) async -> ExchangeOutcome

    package init(_ perform: @escaping @Sendable (_ request: OutboundRequest, _ timeout: Duration) async -> ExchangeOutcome) {
        self.perform = perform
    }

    package func send(_ request: OutboundRequest, timeout: Duration) async -> ExchangeOutcome {
        await perform(request, timeout)
    }
}
