"""For tests of applications and of Gantry itself: disks that remember, forget and break."""
