import AppStore
import HTTPServing

extension Problem {
    /// The answer for a body that is not a notification V2.
    init(_ refusal: NotificationBody.Refusal) {
        self =
            switch refusal {
            case .notJSON: .notJSON
            case .notAnObject: .notAnObject
            case .noSignedPayload: .noSignedPayload
            case .notACompactJWS: .notCompactJWS
            }
    }
}
