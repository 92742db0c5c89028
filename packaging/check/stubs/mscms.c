/* For checks under Wine only, never shipped: Wine's mscms.dll lacks WcsCreateIccProfile and ends the program that asks
   for it; Windows has it. Every call says that there is no colour profile. */
#define SHARED __declspec(dllexport)

SHARED int GetColorProfileFromHandle(void *profile, void *buffer, unsigned *size)
{
    (void)profile, (void)buffer;
    if (size)
        *size = 0;
    return 0;
}
SHARED int CloseColorProfile(void *profile)
{
    (void)profile;
    return 1;
}
SHARED void *WcsCreateIccProfile(void *profile, unsigned options)
{
    (void)profile, (void)options;
    return 0;
}
SHARED void *OpenColorProfileW(void *profile, unsigned access, unsigned sharing, unsigned creation)
{
    (void)profile, (void)access, (void)sharing, (void)creation;
    return 0;
}
