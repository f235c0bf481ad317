package import AppStore
package import Randomness

/// What becomes of a notification that the store sends.
package enum PushFate: Hashable, Sendable {
    /// The caller posts it and records the attempts as it makes them.
    case observed
    /// The first attempt succeeds.
    case delivered
    /// So many attempts fail, and the next one succeeds. In Sandbox, which makes one attempt, none succeeds.
    case retried(failures: Int)
    /// All attempts fail.
    case givenUp
    /// It is never attempted, and history does not list it.
    case unlisted
    /// It is never attempted, and history lists it all the same.
    case listedUnattempted
    /// Another server at the app's URL answers 200.
    case takenElsewhere

    /// The hours after the first attempt at which the store retries.
    package static let retryHours: [Int64] = [0, 1, 13, 37, 85, 157]

    /// A fate other than `observed`. Three in four notifications are delivered at once.
    package static func random(using generator: inout SeededGenerator) -> PushFate {
        guard Int.random(in: 0..<4, using: &generator) == 0 else { return .delivered }
        switch Int.random(in: 0..<6, using: &generator) {
        case 0: return .givenUp
        case 1: return .unlisted
        case 2: return .listedUnattempted
        case 3: return .takenElsewhere
        default: return .retried(failures: Int.random(in: 1...5, using: &generator))
        }
    }

    /// The attempts of a notification that is first sent at `start`, as the store plans them.
    package func attempts(
        from start: Timestamp,
        in environment: AppStoreEnvironment,
        failingWith failure: SendAttemptResult = .unsuccessfulStatus
    ) -> [PushAttempt] {
        let dates = (environment == .sandbox ? [0] : Self.retryHours).map { start.advanced(by: .seconds($0 * 3600)) }
        let failures = dates.map { PushAttempt(date: $0, result: failure, destination: .inbox) }
        switch self {
        case .observed, .unlisted, .listedUnattempted: return []
        case .delivered: return [PushAttempt(date: start, result: .success, destination: .inbox)]
        case .takenElsewhere: return [PushAttempt(date: start, result: .success, destination: .elsewhere)]
        case .givenUp: return failures
        case .retried(let count):
            guard count < dates.count else { return failures }
            return failures.prefix(count) + [PushAttempt(date: dates[count], result: .success, destination: .inbox)]
        }
    }
}
