import AppStore

/// Counts calls by the hour, for each app, environment and endpoint, and refuses those above the limit.
package struct ServerAPILimits: Sendable {
    /// What the header `Retry-After` of a 429 says.
    package enum RetryAfter: Hashable, Sendable {
        /// UNIX time in milliseconds, as Apple does.
        case unixMilliseconds
        /// Seconds from now, as RFC 9110 and proxies do.
        case seconds
        case date
        case nonsense
        case absent
    }

    /// Whose calls are counted together.
    package struct Counter: Hashable, Sendable {
        package var place: ServerAPIPlace
        package var endpoint: ServerAPIEndpoint

        package init(place: ServerAPIPlace, endpoint: ServerAPIEndpoint) {
            self.place = place
            self.endpoint = endpoint
        }
    }

    /// The calls of one hour.
    package struct Use: Hashable, Sendable {
        /// The number of the hour since 1970.
        package let hour: Int64
        package fileprivate(set) var granted = 0
        package fileprivate(set) var refused = 0
    }

    /// The length of an hour; shorter in tests. It should be a whole number of milliseconds.
    package var hour = Duration.seconds(3600)
    /// Calls an hour in Production, where they differ from Apple's; Sandbox has a tenth.
    package var allowances: [ServerAPIEndpoint: Int] = [:]
    /// The part of each allowance that another client of the app takes, from 0 to 1.
    package var shareOfOthers = 0.0
    package var retryAfter = RetryAfter.unixMilliseconds
    private var uses: [Counter: [Use]] = [:]

    package init() {}

    /// How many calls an hour are granted.
    package func allowance(of counter: Counter) -> Int {
        let production = allowances[counter.endpoint] ?? counter.endpoint.callsPerSecond * 3600
        let own = counter.place.environment == .production ? production : production / 10
        return own - Int((Double(own) * shareOfOthers).rounded(.up))
    }

    /// The hours in which a counter was used, oldest first.
    package func uses(of endpoint: ServerAPIEndpoint, at place: ServerAPIPlace) -> [Use] {
        uses[Counter(place: place, endpoint: endpoint)] ?? []
    }

    /// Counts a call. Returns nil if it is granted, else the end of the hour.
    mutating func count(_ counter: Counter, at now: Timestamp) -> Timestamp? {
        let (seconds, attoseconds) = hour.components
        let length = max(1, seconds * 1000 + attoseconds / 1_000_000_000_000_000)
        let number = now.millisecondsSince1970 / length
        var hours = uses[counter] ?? []
        if hours.last?.hour != number { hours.append(Use(hour: number)) }
        let isGranted = hours[hours.count - 1].granted < allowance(of: counter)
        if isGranted { hours[hours.count - 1].granted += 1 } else { hours[hours.count - 1].refused += 1 }
        uses[counter] = hours
        return isGranted ? nil : Timestamp(millisecondsSince1970: (number + 1) * length)
    }

    /// The response to a call above the limit.
    func refusal(until end: Timestamp, at now: Timestamp) -> SimulatedReply {
        var reply = SimulatedReply(ServerAPIError.rateLimit)
        let value: String? =
            switch retryAfter {
            case .unixMilliseconds: String(end.millisecondsSince1970)
            case .seconds: String((end.millisecondsSince1970 - now.millisecondsSince1970 + 999) / 1000)
            case .date: end.httpDate
            case .nonsense: "soon"
            case .absent: nil
            }
        if let value { reply.headers.append(.init(name: "retry-after", value: value)) }
        return reply
    }
}
