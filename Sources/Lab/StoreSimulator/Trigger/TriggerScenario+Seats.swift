import AppStore

private let day = Duration.seconds(86_400)

/// Groups and organizations.
extension TriggerScenario {
    static let purchasersOfSeats: [String: TriggerScenario] = [
        "SUBSCRIBED/INITIAL_BUY:seats": buying(SeatTerms(5), about: "five seats at two prices, whose members Apple invites"),
        "SUBSCRIBED/INITIAL_BUY:developer-seats": buying(
            SeatTerms(5, .developer),
            about: "five seats, whose members the developer invites"
        ),
        "DID_RENEW:seats": TriggerScenario(.later, about: "a renewal of five seats") { state throws(SimulationError) in
            try state.subscribe(endingIn: ScenarioState.end, terms: PurchaseTerms(seats: SeatTerms(5)))
            state.advanceToNow()
            return try state.life.renew()
        },
        "DID_CHANGE_RENEWAL_PREF/INCREASE_QUANTITY": owning(SeatTerms(5), .later) { state throws(SimulationError) in
            try state.life.addSeats(2)
        },
        "DID_CHANGE_RENEWAL_PREF/INCREASE_QUANTITY:same-line-item": owning(
            SeatTerms(5, addsToLineItem: true),
            .later,
            about: "seats that are added with the webOrderLineItemId of the period"
        ) { state throws(SimulationError) in
            try state.life.addSeats(2)
        },
        "DID_CHANGE_RENEWAL_PREF/INCREASE_QUANTITY:undone": owning(
            SeatTerms(5),
            about: "a reduction of the renewal's seats that is undone in part",
            before: { state throws(SimulationError) in try state.life.changeRenewalSeats(to: 3) }
        ) { state throws(SimulationError) in
            try state.life.changeRenewalSeats(to: 4)
        },
        "DID_CHANGE_RENEWAL_PREF/DECREASE_QUANTITY": owning(SeatTerms(5)) { state throws(SimulationError) in
            try state.life.changeRenewalSeats(to: 3)
        },
        "REFUND/SEATS": owning(SeatTerms(5)) { state throws(SimulationError) in try state.life.refundSeats(2) },
        "REFUND:addition": owning(
            SeatTerms(5),
            .later,
            about: "seats that were added, which ends no access",
            before: { state throws(SimulationError) in try state.life.addSeats(2) }
        ) { state throws(SimulationError) in
            try state.life.refund()
        },
        "UNCLAIM_SEATS": owning(SeatTerms(5, .developer)) { state throws(SimulationError) in try state.life.unclaimSeats(2) },
        "UNCLAIM_SEATS:bare": TriggerScenario(.none, about: "seats of which unclaimInfo alone names the app") {
            state throws(SimulationError) in
            try state.subscribe(endingIn: day * 20, terms: PurchaseTerms(seats: SeatTerms(5, .developer)))
            state.advanceToNow()
            return try state.life.unclaimSeats(2, hasData: false)
        },
    ]

    static let membersWithSeats: [String: TriggerScenario] = [
        "SUBSCRIBED/INITIAL_BUY:assigned": taking(SeatAssignment(seats: SeatTerms(5)), about: "a member of a group"),
        "SUBSCRIBED/INITIAL_BUY:organization": taking(SeatAssignment(), about: "a member of an organization"),
        "DID_RENEW:assigned": TriggerScenario(.later, about: "a renewal of a member") { state throws(SimulationError) in
            try state.subscribe(endingIn: ScenarioState.end, seat: SeatAssignment(seats: SeatTerms(5)))
            state.advanceToNow()
            return try state.life.renew()
        },
        "REVOKE:assigned": TriggerScenario(.any, about: "a member who is removed from a group") { state throws(SimulationError) in
            try state.subscribe(endingIn: day * 20, seat: SeatAssignment(seats: SeatTerms(5)))
            state.advanceToNow()
            return try state.life.revoke()
        },
    ]

    private static func buying(_ seats: SeatTerms, about words: String) -> TriggerScenario {
        TriggerScenario(.first, about: words) { state throws(SimulationError) in
            try state.life.subscribe(to: state.plan, appAccountToken: state.token, terms: PurchaseTerms(seats: seats))
        }
    }

    private static func taking(_ assignment: SeatAssignment, about words: String) -> TriggerScenario {
        TriggerScenario(.first, about: words) { state throws(SimulationError) in
            try state.life.takeSeat(assignment)
            return try state.life.subscribe(to: state.plan)
        }
    }

    /// An event during an active subscription of a group; `before` happens during it, too.
    private static func owning(
        _ seats: SeatTerms,
        _ charge: Charge = .any,
        about words: String? = nil,
        before: Event? = nil,
        _ event: @escaping Event
    ) -> TriggerScenario {
        TriggerScenario(charge, about: words) { state throws(SimulationError) in
            try state.subscribe(endingIn: day * 20, terms: PurchaseTerms(seats: seats))
            if let before { try state.prepare(before) }
            state.advanceToNow()
            return try event(&state)
        }
    }
}
