import AppStore
import FoundationEssentials

/// A notification that the store sent, and what became of it.
struct PushRecord: Sendable {
    let uuid: UUID
    let type: NotificationTypeV2
    let subtype: Subtype?
    let signedDate: Timestamp
    /// The appTransactionId of its customer; nil when it is about none.
    let customer: String?
    let jws: [UInt8]
    let fate: PushFate
    /// How long after the first attempt history lists it.
    let listedAfter: Duration
    var attempts: [PushAttempt]

    /// The attempts until an instant.
    func attempts(until now: Timestamp) -> ArraySlice<PushAttempt> { attempts.prefix { $0.date <= now } }

    /// The first attempt, or the signature if there is none.
    var firstDate: Timestamp { attempts.first?.date ?? signedDate }

    func isListed(at now: Timestamp) -> Bool {
        guard firstDate.advanced(by: listedAfter) <= now else { return false }
        return switch fate {
        case .unlisted: false
        case .listedUnattempted: true
        case .observed, .delivered, .retried, .givenUp, .takenElsewhere: !attempts(until: now).isEmpty
        }
    }

    /// Whether the attempts so far have failed.
    func hasFailed(at now: Timestamp) -> Bool {
        attempts(until: now).last.map { $0.result != .success } ?? false
    }
}
