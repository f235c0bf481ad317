/// The faults that the next calls meet.
package struct ServerAPIFaults: Sendable {
    private struct Entry {
        let fault: ServerAPIFault
        let applies: @Sendable (ServerAPIRequest) -> Bool
        /// How many calls still meet it; nil for all.
        var remaining: Int?
    }

    private var entries: [Entry] = []

    package init() {}

    /// The number of faults that wait for a call.
    package var count: Int { entries.count }

    /// Adds a fault behind those that were added before. A call meets the first one that applies to it.
    ///
    /// - Parameters:
    ///   - endpoint: the endpoint that it concerns; nil for all.
    ///   - times: how many calls meet it; nil for all calls from now on.
    ///   - applies: a condition on the request.
    package mutating func add(
        _ fault: ServerAPIFault,
        to endpoint: ServerAPIEndpoint? = nil,
        times: Int? = 1,
        where applies: @escaping @Sendable (ServerAPIRequest) -> Bool = { _ in true }
    ) {
        let entry = Entry(fault: fault, applies: { (endpoint == nil || $0.endpoint == endpoint) && applies($0) }, remaining: times)
        entries.append(entry)
    }

    /// Takes back all faults.
    package mutating func removeAll() {
        entries = []
    }

    /// Takes the fault of a request.
    mutating func next(for request: ServerAPIRequest) -> ServerAPIFault? {
        guard let index = entries.firstIndex(where: { $0.applies(request) }) else { return nil }
        let fault = entries[index].fault
        if let remaining = entries[index].remaining {
            entries[index].remaining = remaining - 1
            if remaining <= 1 { entries.remove(at: index) }
        }
        return fault
    }
}
