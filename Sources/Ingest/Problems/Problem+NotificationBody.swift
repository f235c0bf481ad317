import AppStore
import HTTPServing

extension Problem {
    /// Says what keeps a body from being a notification.
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
