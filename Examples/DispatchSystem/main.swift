import Delegation

protocol EmergencyResponding: AnyObject {
    func notifyFire(at place: String)
    func notifyCarCrash(at place: String)
}

final class FireStation: EmergencyResponding {
    func notifyFire(at place: String) { print("  Fire station: the engines are on their way to \(place).") }
    func notifyCarCrash(at place: String) { print("  Fire station: we bring the cutters to \(place).") }
    deinit { print("The fire station closes.") }
}

final class PoliceStation: EmergencyResponding {
    func notifyFire(at place: String) { print("  Police station: we close the road to \(place).") }
    func notifyCarCrash(at place: String) { print("  Police station: a patrol drives to \(place).") }
}

/// Announces events without knowing the stations.
final class DispatchSystem {
    let multicastDelegate = MulticastDelegate<any EmergencyResponding>()

    func reportFire(at place: String) {
        print("A fire at \(place)!")
        multicastDelegate.invokeDelegates { $0.notifyFire(at: place) }
    }

    func reportCarCrash(at place: String) {
        print("A car crash at \(place)!")
        multicastDelegate.invokeDelegates { $0.notifyCarCrash(at: place) }
    }
}

let dispatch = DispatchSystem()
let policeStation = PoliceStation()
dispatch.multicastDelegate.addDelegate(policeStation)

var fireStation: FireStation? = FireStation()
if let fireStation {
    dispatch.multicastDelegate.addDelegate(fireStation)
    dispatch.multicastDelegate.addDelegate(fireStation)  // Twice is once.
}
dispatch.reportFire(at: "the old mill")

// It need not be removed.
fireStation = nil
dispatch.reportCarCrash(at: "the bridge")
