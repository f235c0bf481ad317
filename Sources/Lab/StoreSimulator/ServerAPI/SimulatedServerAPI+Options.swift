import AppStore

extension SimulatedServerAPI {
    /// How the simulated API behaves at all times.
    package struct Options: Sendable {
        /// The date by which history filters and sorts notifications. Apple does not say which.
        package enum HistoryDate: Hashable, Sendable {
            case signedDate, firstAttempt
        }

        /// How far ahead of the server's clock `iat` may be.
        package var clockTolerance = Duration.zero
        package var historyDate = HistoryDate.signedDate
        /// How much later than 180 days ago (30 in Sandbox) the earliest start date of notification history is.
        package var edgeShortening = Duration.zero
        /// How long a pagination token can be used.
        package var tokenLifetime = Duration.seconds(86_400)
        /// How long after its first attempt history lists a notification, where the push names no other time.
        package var listedAfter = Duration.zero
        /// How old the state of customers is that answers are made from. They are signed all the same when they are asked for.
        ///
        /// It concerns customers that are held after it was set.
        package var replicaLag = Duration.zero
        /// How long extending many subscriptions takes.
        package var massExtensionTime = Duration.zero
        /// Entries of a page.
        package var pageSize = 20

        package init() {}

        /// The earliest start date of notification history.
        func earliestStart(in environment: AppStoreEnvironment, at now: Timestamp) -> Timestamp {
            let days: Int64 = environment == .sandbox ? 30 : 180
            return now.advanced(by: .seconds(-days * 86_400) + edgeShortening)
        }
    }
}
