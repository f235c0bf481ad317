/// Why a call of the simulator failed.
///
/// None of these is worth a retry. ``Code/authorityFolder`` needs a repair of the folder.
package struct SimulationError: Error, Hashable, CustomStringConvertible {
    /// What was wrong.
    package struct Code: Hashable, Sendable {
        private enum Kind { case impossibleEvent, unknownNotification, invalidOption, authorityFolder, keyFolder, signing }
        private let kind: Kind

        /// The event cannot happen to a customer in this state, such as a renewal after the expiry.
        package static let impossibleEvent = Self(kind: .impossibleEvent)
        /// The type or subtype is not one that Apple documents.
        package static let unknownNotification = Self(kind: .unknownNotification)
        /// An option contradicts another one or the type.
        package static let invalidOption = Self(kind: .invalidOption)
        /// The folder of a test authority cannot be read or written.
        package static let authorityFolder = Self(kind: .authorityFolder)
        /// A key of the App Store Server API cannot be written.
        package static let keyFolder = Self(kind: .keyFolder)
        /// Something could not be signed.
        package static let signing = Self(kind: .signing)
    }

    package let code: Code
    /// What is wrong, for the user.
    package let message: String
    /// The underlying error.
    package let cause: String?

    /// Always false: the same call fails again.
    package var isRetryable: Bool { false }

    package var description: String { cause.map { "\(message): \($0)" } ?? message }

    init(_ code: Code, _ message: String, cause: (any Error)? = nil) {
        self.code = code
        self.message = message
        self.cause = cause.map { String(describing: $0) }
    }

    /// An event that does not fit the customer's state.
    static func impossible(_ event: String, because reason: String) -> SimulationError {
        SimulationError(.impossibleEvent, "\(event) is impossible: \(reason)")
    }
}
